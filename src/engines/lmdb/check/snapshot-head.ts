import type { Bytes } from '../../../base/bytes.js';
import { Page, pageBytes, pageFlags, type PageFile, type PageView } from './page.js';

/** The root record of a tree in the data file. */
export interface TreeHead {
  readonly pad: number;
  readonly flags: number;
  readonly depth: number;
  readonly branchPages: number;
  readonly leafPages: number;
  readonly overflowPages: number;
  readonly entries: number;
  /** `noRoot` where the tree is empty. */
  readonly root: number;
}

/** The state of a data file after its last commit. */
export interface SnapshotHead {
  readonly transaction: number;
  readonly lastPage: number;
  readonly free: TreeHead;
  readonly main: TreeHead;
}

export const treeHeadBytes = 48;
const rootAt = 40;
const metaAt = 24;
const mark = 0xbeefc0de;
const version = 2;
const at = { version: 4, mapBytes: 16, free: 24, main: 72, lastPage: 120, transaction: 128 };
/** The flags of the free tree that describe its key order. */
const treeFlagsMask = 0x3fff;
const integerKeys = 8;
/** The flags of the environment that created the file. */
const environmentFlags = 0x4000;
/** The map size of a new file; the package grows it as needed. */
const firstMapBytes = 0x20000;
/** The page number 2^64 − 1 (all bits set), rounded to a double. */
const noRoot = 2 ** 64;

export function isEmptyTree(head: TreeHead): boolean {
  return head.root >= noRoot;
}

/** Reads the head from a value at any alignment. */
export function treeHeadOf(bytes: Bytes): TreeHead {
  const view = new DataView(bytes.buffer, bytes.byteOffset, treeHeadBytes);
  const numberAt = (offset: number): number => Number(view.getBigUint64(offset, true));
  return {
    pad: view.getUint32(0, true),
    flags: view.getUint16(4, true),
    depth: view.getUint16(6, true),
    branchPages: numberAt(8),
    leafPages: numberAt(16),
    overflowPages: numberAt(24),
    entries: numberAt(32),
    root: numberAt(40),
  };
}

/**
 * The newer of the two meta pages of a data file. Throws an error that says what is wrong when
 * neither can be used or the file is too short.
 */
export function readSnapshotHead(file: PageFile): SnapshotHead {
  const [first, second] = [readHead(file, 0), readHead(file, 1)];
  const isNew = first.transaction === 0 && second.transaction === 0;
  if (!isNew && Math.abs(first.transaction - second.transaction) !== 1) {
    throw new Error(
      `the first two pages are of the transactions ${first.transaction} and ` +
        `${second.transaction}, which do not follow each other`,
    );
  }
  const head = second.transaction > first.transaction ? second : first;
  const { bytes } = file;
  if (bytes < (head.lastPage + 1) * pageBytes && bytes % pageBytes !== 0) {
    throw new Error(`the file ends within a page, after ${bytes} bytes`);
  }
  return head;
}

/** A data file with only its two meta pages, as LMDB creates it on little endian machines. */
export function emptyDataFile(): Bytes {
  const bytes = Buffer.alloc(2 * pageBytes);
  for (const number of [0, 1]) {
    const page = bytes.subarray(number * pageBytes, (number + 1) * pageBytes);
    page.writeUInt32LE(number, 0);
    page.writeUInt16LE(pageFlags.meta, 18);
    const head = page.subarray(metaAt);
    head.writeUInt32LE(mark, 0);
    head.writeUInt32LE(version, at.version);
    head.writeUInt32LE(firstMapBytes, at.mapBytes);
    head.writeUInt32LE(pageBytes, at.free);
    head.writeUInt16LE(integerKeys | environmentFlags, at.free + 4);
    head.fill(0xff, at.free + rootAt, at.free + treeHeadBytes);
    head.fill(0xff, at.main + rootAt, at.main + treeHeadBytes);
    head.writeUInt32LE(1, at.lastPage);
  }
  return bytes;
}

function readHead(file: PageFile, number: number): SnapshotHead {
  const page = new Page();
  if (!file.read(number, page)) throw headError(number, 'is missing');
  return headOf(page, number);
}

/** The head on one of the first two pages. Throws an error that says what is wrong with it. */
export function headOf(page: PageView, number: number): SnapshotHead {
  const wrong = (what: string) => headError(number, what);
  if (page.pageNumber !== number || page.flags !== pageFlags.meta) throw wrong('is another page');
  if (page.long(metaAt) !== mark) throw wrong('does not begin as it should');
  if (page.long(metaAt + at.version) !== version) throw wrong('is of an unknown version');
  const head = {
    transaction: page.number(metaAt + at.transaction),
    lastPage: page.number(metaAt + at.lastPage),
    free: treeHeadOf(page.slice(metaAt + at.free, treeHeadBytes)),
    main: treeHeadOf(page.slice(metaAt + at.main, treeHeadBytes)),
  };
  if (head.free.pad !== pageBytes) throw wrong('tells another size of pages');
  if ((head.free.flags & treeFlagsMask) !== integerKeys) throw wrong('has unknown flags');
  if (!Number.isSafeInteger(head.transaction)) throw wrong('has an impossible transaction');
  const isOther = head.transaction > 0 && head.transaction % 2 !== number;
  if (isOther) throw wrong(`is of transaction ${head.transaction}, which writes the other one`);
  const mapBytes = page.number(metaAt + at.mapBytes);
  if (mapBytes > 2 ** 47) throw wrong('tells an impossible size of the file');
  return head;
}

function headError(number: number, what: string): Error {
  return new Error(`page ${number}, which describes the file, ${what}`);
}
