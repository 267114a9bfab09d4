import { messageOf } from '../../../base/thrown.js';
import { equalBytes, type Bytes } from '../../../base/bytes.js';
import { checksumBytes, isIntact } from '../rows/record.js';
import { nodeBytes, nodeFlags, PageFile, pageBytes, type PageView } from './page.js';
import { readSnapshotHead, treeHeadOf, treeHeadBytes } from './snapshot-head.js';
import type { SnapshotHead, TreeHead } from './snapshot-head.js';
import { Walk, type FoundEntry, type TreeVisitor } from './walk.js';

/** Further damage is counted but not reported. */
export const findingsMax = 20;
/** The version before each value. */
export const versionBytes = 8;
/** The trees of a data file, LMDB's own aside. */
const treeNames = ['entries', 'meta'] as const;
type TreeName = (typeof treeNames)[number];

export interface CheckReport {
  /** The number of entries of the store. */
  readonly entries: number;
  readonly bytes: number;
  /** Descriptions of damage for people, at most `findingsMax`. Empty: none was found. */
  readonly findings: readonly string[];
  /** The number of all damages. */
  readonly damages: number;
  /** The engine's own records. */
  readonly notes: ReadonlyMap<string, Bytes>;
  /** The value at the key that was asked for. */
  readonly wanted?: Bytes;
  /** The id of the last transaction in the file. When it changes, another process is writing. */
  readonly transaction: number;
}

export interface CheckOptions {
  readonly entries: boolean;
  readonly isNew?: boolean;
  /** A key whose value is of use. */
  readonly wanted?: Bytes;
}

export interface CheckProgress {
  readonly pages: number;
  readonly pagesMax: number;
}

/**
 * Checks a data file, to which no process writes, page by page. No content of the file can make
 * this throw or loop for ever. When `entries` is false, pages with entries of the store, which are
 * nearly all, are not read. `isNew`: the process that created the file may have died before it had
 * created all trees.
 */
export function* checkDataFile(
  path: string,
  options: CheckOptions,
): Generator<CheckProgress, CheckReport> {
  using file = new PageFile(path);
  const { bytes } = file;
  const found = new Findings();
  const notes = new Map<string, Bytes>();
  let head: SnapshotHead;
  try {
    head = readSnapshotHead(file);
  } catch (error) {
    found.add(messageOf(error));
    return { entries: 0, bytes, ...found.summary(), notes, transaction: -1 };
  }
  // A corrupt size must not cause a huge allocation.
  const pages = head.lastPage + 1;
  if (pages * pageBytes > bytes + growthBytesMax) {
    found.add(`the file has ${bytes} bytes where ${pages * pageBytes} should be`);
    return { entries: 0, bytes, ...found.summary(), notes, transaction: head.transaction };
  }
  const walk = new Walk(file, head, (what) => found.add(what));
  const values: Bytes[] = [];
  const entries = yield* walkAll(walk, { head, notes, options, found, values });
  const [wanted] = values;
  const report = { entries, bytes, ...found.summary(), notes, transaction: head.transaction };
  return wanted === undefined ? report : { ...report, wanted };
}

/** Unused pages at the end of a file may never have been written. */
const growthBytesMax = 1 << 30;

class Findings {
  readonly #texts: string[] = [];
  #count = 0;

  add(text: string): void {
    this.#count += 1;
    if (this.#texts.length < findingsMax) this.#texts.push(text);
  }

  summary(): { readonly findings: readonly string[]; readonly damages: number } {
    return { findings: this.#texts, damages: this.#count };
  }
}

interface WalkParts {
  readonly head: SnapshotHead;
  readonly notes: Map<string, Bytes>;
  readonly options: CheckOptions;
  readonly found: Findings;
  /** Gets the value that is wanted. */
  readonly values: Bytes[];
}

/** Returns the number of entries. */
function* walkAll(walk: Walk, parts: WalkParts): Generator<CheckProgress, number> {
  const { head, notes, options, found, values } = parts;
  const trees = new Map<TreeName, TreeHead>();
  const main: TreeVisitor = {
    name: 'main',
    compare: compareBytes,
    entry: (entry) => trees.set(...treeOf(entry)),
  };
  yield* counted(walk, head, walk.tree(head.main, main));
  const lacksTrees = trees.size !== treeNames.length && options.isNew !== true;
  if (head.transaction > 0 && lacksTrees && head.main.entries > 0) {
    found.add('the file does not have the trees of a store');
  }
  for (const [name, tree] of trees) {
    const entry = (each: FoundEntry): void => {
      checkRecord(each);
      if (name === 'meta') notes.set(textOfKey(each.key), valueOf(each));
      else if (options.wanted !== undefined && equalBytes(each.key, options.wanted)) {
        values.push(valueOf(each));
      }
    };
    const isRead = options.entries || name === 'meta';
    const visitor = { name, compare: compareBytes, ...(isRead ? { entry } : {}) };
    yield* counted(walk, head, walk.tree(tree, visitor));
  }
  const free: TreeVisitor = {
    name: 'free',
    compare: compareNumbers,
    entry: (entry) => freePages(entry, walk, head),
  };
  yield* counted(walk, head, walk.tree(head.free, free));
  return trees.get('entries')?.entries ?? 0;
}

function* counted(
  walk: Walk,
  { lastPage }: SnapshotHead,
  steps: Generator<void, void>,
): Generator<CheckProgress, void> {
  for (const _ of steps) yield { pages: walk.pages, pagesMax: lastPage + 1 };
}

/** A tree of the store, as the main tree names it. Throws for any other entry. */
export function treeOf({ page, node, key, data }: FoundEntry): [TreeName, TreeHead] {
  const text = textOfKey(key).replace(/\0$/, '');
  const name = treeNames.find((each) => each === text);
  const isTree = page.nodeFlagsOf(node) === nodeFlags.tree && data.length === treeHeadBytes;
  if (name === undefined || !isTree) throw new Error('names a tree that no store has');
  return [name, treeHeadOf(data)];
}

/**
 * The tree of the entries, as a main tree of one page names it; undefined when it names none.
 * Throws for a page that is not one of a store.
 */
export function entriesTreeOf(page: PageView): TreeHead | undefined {
  for (let index = 0; index < page.count; index += 1) {
    const node = page.nodeAt(index);
    const keyBytes = page.keyBytesOf(node);
    const key = page.slice(node + nodeBytes, keyBytes);
    const data = page.slice(node + nodeBytes + keyBytes, page.dataBytesOf(node));
    const [name, tree] = treeOf({ page, node, key, data });
    if (name === 'entries') return tree;
  }
  return undefined;
}

/** A copy: the page is overwritten by the next one. */
function valueOf({ data }: FoundEntry): Bytes {
  return Buffer.from(data.subarray(versionBytes, -checksumBytes));
}

/** A record is a version, the value and a checksum. */
function checkRecord({ page, node, key, data }: FoundEntry): void {
  if (page.nodeFlagsOf(node) === nodeFlags.tree) throw new Error('has a tree for a value');
  if (data.length < versionBytes + checksumBytes) throw new Error('has a value without a checksum');
  const version = new DataView(data.buffer, data.byteOffset, versionBytes).getFloat64(0, true);
  if (isIntact(key, version, data.subarray(versionBytes))) return;
  throw new Error(`has a value that does not match its checksum, under the key ${hexOf(key)}`);
}

/**
 * A count followed by page entries: a page number, 0 for a hole, or the length of a run and its
 * first page.
 */
function freePages({ data, key }: FoundEntry, walk: Walk, head: SnapshotHead): void {
  const view = new DataView(data.buffer, data.byteOffset, data.length);
  const numberAt = (index: number): bigint => view.getBigInt64(8 * index, true);
  if (key.length !== 8 || numberOf(key) > BigInt(head.transaction)) {
    throw new Error('lists free pages of an impossible transaction');
  }
  const count = data.length < 8 ? -1n : numberAt(0);
  if (count < 0n || 8n * (count + 1n) > BigInt(data.length)) {
    throw new Error('has a list of free pages with an impossible length');
  }
  for (let index = 1; index <= Number(count); index += 1) {
    const number = numberAt(index);
    if (number > 0n) walk.use(Number(number));
    if (number >= 0n) continue;
    index += 1;
    const first = index <= Number(count) ? Number(numberAt(index)) : -1;
    if (-number > BigInt(head.lastPage)) throw new Error('has an impossible run of free pages');
    for (let page = 0; page < Number(-number); page += 1) walk.use(first + page);
  }
}

function compareBytes(left: Bytes, right: Bytes): number {
  return Buffer.compare(left, right);
}

function compareNumbers(left: Bytes, right: Bytes): number {
  const [leftNumber, rightNumber] = [numberOf(left), numberOf(right)];
  if (leftNumber === rightNumber) return 0;
  return leftNumber < rightNumber ? -1 : 1;
}

/** A key of another length has no number; the order check reports it. */
function numberOf(key: Bytes): bigint {
  if (key.length !== 8) return -1n;
  return new DataView(key.buffer, key.byteOffset, 8).getBigUint64(0, true);
}

function textOfKey(key: Bytes): string {
  return Buffer.from(key).toString('latin1');
}

function hexOf(key: Bytes): string {
  return Buffer.from(key).toString('hex');
}
