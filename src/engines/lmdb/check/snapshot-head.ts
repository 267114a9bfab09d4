import type { Bytes } from '../../../base/bytes.js';
import { Page, pageBytes, pageFlags, type PageFile } from './page.js';

/** What the data file says of one tree. */
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
/** Of the flags of the free tree: those that say how its keys compare. */
const treeFlagsMask = 0x3fff;
const integerKeys = 8;
/** Of the environment that made the file. */
const environmentFlags = 0x4000;
/** How much of a new file is mapped; the package maps more as it grows. */
const firstMapBytes = 0x20000;
/** What eight bytes of ones are as a number. */
const noRoot = 2 ** 64;

export function isEmptyTree(head: TreeHead): boolean {
  return head.root >= noRoot;
}

/** In a value, which may begin at any byte. */
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
 * The newer of the two states that a data file keeps. Throws an error that says what is wrong when
 * it cannot be told which one that is, or when the file is too short for it.
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

/** A data file of nothing but its first two pages, as LMDB makes it on little endian machines. */
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
  const wrong = (what: string) => new Error(`page ${number}, which describes the file, ${what}`);
  if (!file.read(number, page)) throw wrong('is missing');
  if (page.pageNumber !== number || page.flags !== pageFlags.meta) throw wrong('is another page');
  if (page.long(metaAt) !== mark) throw wrong('does not begin as it should');
  if (page.long(metaAt + at.version) !== version) throw wrong('is of an unknown version');
  const head = {
    transaction: page.number(metaAt + at.transaction),
    lastPage: page.number(metaAt + at.lastPage),
    free: treeHeadOf(page.bytes.subarray(metaAt + at.free)),
    main: treeHeadOf(page.bytes.subarray(metaAt + at.main)),
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
