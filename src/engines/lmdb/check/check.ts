import { messageOf } from '../../../base/thrown.js';
import type { Bytes } from '../../../base/bytes.js';
import { checksumBytes, isIntact } from '../rows/record.js';
import { nodeFlags, PageFile, pageBytes } from './page.js';
import { readSnapshotHead, treeHeadOf, treeHeadBytes } from './snapshot-head.js';
import type { SnapshotHead, TreeHead } from './snapshot-head.js';
import { Walk, type FoundEntry, type TreeVisitor } from './walk.js';

/** Further damage is counted, not told. */
export const findingsMax = 20;
const versionBytes = 8;
/** The trees of a data file beside those that the engine itself needs. */
const treeNames = ['entries', 'meta'] as const;
type TreeName = (typeof treeNames)[number];

export interface CheckReport {
  /** Entries of the store. */
  readonly entries: number;
  readonly bytes: number;
  /** What is damaged, for people: `findingsMax` at most. Empty: nothing is. */
  readonly findings: readonly string[];
  /** How many there are in all. */
  readonly damages: number;
  /** Of what the engine notes for itself. */
  readonly notes: ReadonlySet<string>;
  /** The last commit in the file: another one afterwards means that somebody writes to it. */
  readonly transaction: number;
}

export interface CheckOptions {
  readonly entries: boolean;
  readonly isNew?: boolean;
}

export interface CheckProgress {
  readonly pages: number;
  readonly pagesMax: number;
}

/**
 * Reads a data file that nobody writes to, from its first to its last page in use, and holds it to
 * what an intact one is. Nothing in the file can make this fail or run for ever. `entries` false
 * leaves out the pages with entries of the store, which are nearly all. `isNew`: whoever made the file
 * may have died before it had all of its trees.
 */
export function* checkDataFile(
  path: string,
  options: CheckOptions,
): Generator<CheckProgress, CheckReport> {
  using file = new PageFile(path);
  const { bytes } = file;
  const found = new Findings();
  const notes = new Set<string>();
  let head: SnapshotHead;
  try {
    head = readSnapshotHead(file);
  } catch (error) {
    found.add(messageOf(error));
    return { entries: 0, bytes, ...found.told(), notes, transaction: -1 };
  }
  // A file that tells a size beyond all measure must not have memory reserved for it.
  const pages = head.lastPage + 1;
  if (pages * pageBytes > bytes + growthBytesMax) {
    found.add(`the file has ${bytes} bytes where ${pages * pageBytes} should be`);
    return { entries: 0, bytes, ...found.told(), notes, transaction: head.transaction };
  }
  const walk = new Walk(file, head, (what) => found.add(what));
  const entries = yield* walkAll(walk, { head, notes, options, found });
  return { entries, bytes, ...found.told(), notes, transaction: head.transaction };
}

/** Pages at the end of a file may not have been written if nothing is in them. */
const growthBytesMax = 1 << 30;

class Findings {
  readonly #texts: string[] = [];
  #count = 0;

  add(text: string): void {
    this.#count += 1;
    if (this.#texts.length < findingsMax) this.#texts.push(text);
  }

  told(): { readonly findings: readonly string[]; readonly damages: number } {
    return { findings: this.#texts, damages: this.#count };
  }
}

interface WalkParts {
  readonly head: SnapshotHead;
  readonly notes: Set<string>;
  readonly options: CheckOptions;
  readonly found: Findings;
}

/** Returns how many entries the store has. */
function* walkAll(walk: Walk, parts: WalkParts): Generator<CheckProgress, number> {
  const { head, notes, options, found } = parts;
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
      if (name === 'meta') notes.add(textOfKey(each.key));
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

function treeOf({ page, node, key, data }: FoundEntry): [TreeName, TreeHead] {
  const text = textOfKey(key).replace(/\0$/, '');
  const name = treeNames.find((each) => each === text);
  const isTree = page.nodeFlagsOf(node) === nodeFlags.tree && data.length === treeHeadBytes;
  if (name === undefined || !isTree) throw new Error('names a tree that no store has');
  return [name, treeHeadOf(data)];
}

/** A version, the value, a checksum. */
function checkRecord({ page, node, key, data }: FoundEntry): void {
  if (page.nodeFlagsOf(node) === nodeFlags.tree) throw new Error('has a tree for a value');
  if (data.length < versionBytes + checksumBytes) throw new Error('has a value without a checksum');
  const version = new DataView(data.buffer, data.byteOffset, versionBytes).getFloat64(0, true);
  if (isIntact(key, version, data.subarray(versionBytes))) return;
  throw new Error(`has a value that does not match its checksum, under the key ${hexOf(key)}`);
}

/** A count, and so many numbers: a page, nothing (0), or the length of a run and its first page. */
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

/** Keys of another length are none; those before and behind them tell. */
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
