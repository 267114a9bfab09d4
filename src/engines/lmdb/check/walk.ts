import { messageOf } from '../../../base/thrown.js';
import type { Bytes } from '../../../base/bytes.js';
import { headerBytes, nodeBytes, nodeFlags, Page, pageBytes, pageFlags } from './page.js';
import type { PageFile, PageView } from './page.js';
import { isEmptyTree, type SnapshotHead, type TreeHead } from './snapshot-head.js';

/** The finding of a page that is newer than the file: of a copy made during writes, mostly. */
export const toCome = 'is of a transaction to come';

const roomBytes = pageBytes - headerBytes;
const overflowReferenceBytes = 24;
/** No data file has deeper trees. */
const depthMax = 32;

/** The location of a value: in the leaf, or on overflow pages. */
export interface FoundEntry {
  readonly page: PageView;
  readonly node: number;
  readonly key: Bytes;
  readonly data: Bytes;
}

/** The key order of a tree, and the check of its entries. */
export interface TreeVisitor {
  readonly name: string;
  compare(left: Bytes, right: Bytes): number;
  /** Throws an error that says what is wrong. When absent, pages with entries are not read. */
  readonly entry?: (found: FoundEntry) => void;
}

/** The bounds that the parent pages give to the keys of a page. */
interface Bounds {
  readonly from: Bytes | undefined;
  readonly to: Bytes | undefined;
}

interface Counts {
  branchPages: number;
  leafPages: number;
  overflowPages: number;
  entries: number;
}

/**
 * Walks the trees of a data file page by page and checks each page for everything that LMDB relies
 * on: its number, the space of its nodes, the order of its keys, and that it is used once. A file
 * that passes cannot crash a process that maps it, and all its entries are reachable.
 */
export class Walk {
  /** A flag for each page of the file: set once the page was visited. */
  readonly #used: Uint8Array;
  #count = 0;
  readonly #file: PageFile;
  readonly #head: SnapshotHead;
  readonly #found: (what: string) => void;
  /** One page per level, so that the keys of the parent pages stay in memory. */
  readonly #pages: Page[] = [];

  constructor(file: PageFile, head: SnapshotHead, found: (what: string) => void) {
    this.#file = file;
    this.#head = head;
    this.#found = found;
    this.#used = new Uint8Array(head.lastPage + 1);
  }

  /** Yields after each page with entries. Reports damage and continues with the rest. */
  *tree(head: TreeHead, visitor: TreeVisitor): Generator<void, void> {
    const counts: Counts = { branchPages: 0, leafPages: 0, overflowPages: 0, entries: 0 };
    if (!isEmptyTree(head)) {
      if (head.depth < 1 || head.depth > depthMax) {
        this.#found(`the tree '${visitor.name}' has an impossible depth of ${head.depth}`);
        return;
      }
      const position = { level: 1, head, visitor, counts };
      yield* this.#page(head.root, { from: undefined, to: undefined }, position);
    }
    if (visitor.entry !== undefined) this.#compareCounts(head, counts, visitor.name);
  }

  #compareCounts(head: TreeHead, counts: Counts, name: string): void {
    for (const [what, count] of Object.entries(counts)) {
      const told = head[what as keyof Counts];
      if (isEmptyTree(head) ? told === 0 : told === count) continue;
      this.#found(`the tree '${name}' should have ${told} ${wordsOf(what)} and has ${count}`);
    }
  }

  *#page(number: number, bounds: Bounds, position: TreePosition): Generator<void, void> {
    try {
      if (position.level === position.head.depth) {
        if (position.visitor.entry === undefined) this.use(number);
        else this.#leaf(this.#read(number, pageFlags.leaf, position.level), bounds, position);
        position.counts.leafPages += 1;
        yield;
        return;
      }
      const page = this.#read(number, pageFlags.branch, position.level);
      position.counts.branchPages += 1;
      checkNodes(page, pageFlags.branch);
      checkKeys(page, bounds, position.visitor, 1);
      yield* this.#children(page, bounds, position);
    } catch (error) {
      this.#found(`page ${number} of the tree '${position.visitor.name}' ${messageOf(error)}`);
    }
  }

  *#children(page: Page, bounds: Bounds, position: TreePosition): Generator<void, void> {
    const below = { ...position, level: position.level + 1 };
    for (let index = 0; index < page.count; index += 1) {
      const from = index === 0 ? bounds.from : keyOf(page, index);
      const to = index + 1 < page.count ? keyOf(page, index + 1) : bounds.to;
      yield* this.#page(page.childOf(page.nodeAt(index)), { from, to }, below);
    }
  }

  #leaf(page: Page, bounds: Bounds, { visitor, counts }: TreePosition): void {
    checkNodes(page, pageFlags.leaf);
    checkKeys(page, bounds, visitor, 0);
    for (let index = 0; index < page.count; index += 1) {
      const node = page.nodeAt(index);
      const data = this.#dataOf(page, node, counts);
      visitor.entry?.({ page, node, key: keyOf(page, index), data });
      counts.entries += 1;
    }
  }

  #dataOf(page: Page, node: number, counts: Counts): Bytes {
    const at = node + nodeBytes + page.keyBytesOf(node);
    const bytes = page.dataBytesOf(node);
    if ((page.nodeFlagsOf(node) & nodeFlags.overflow) === 0) {
      return page.bytes.subarray(at, at + bytes);
    }
    const reference = page.bytes.subarray(at, at + overflowReferenceBytes);
    const [first, pages] = [numberAt(reference, 0), numberAt(reference, 16)];
    const needed = Math.floor((headerBytes - 1 + bytes) / pageBytes) + 1;
    // The engine leaves a value its pages that is written anew, shorter, in the same transaction.
    if (pages < needed) throw new Error(`has a value of ${bytes} bytes on ${pages} pages`);
    this.#checkTransaction(numberAt(reference, 8));
    const header = new Page();
    for (let index = 0; index < pages; index += 1) this.use(first + index);
    if (!this.#file.read(first, header)) throw new Error(`needs page ${first}, which is missing`);
    const isOther = header.pageNumber !== first || header.flags !== pageFlags.overflow;
    if (isOther || header.overflowPages !== pages) {
      throw new Error(`needs page ${first} for a value, which is another page`);
    }
    this.#checkTransaction(header.transaction);
    counts.overflowPages += pages;
    const data = Buffer.allocUnsafe(bytes);
    if (this.#file.readBytes(first * pageBytes + headerBytes, data)) return data;
    throw new Error(`has a value on page ${first}, where the file ends`);
  }

  #read(number: number, flags: number, level: number): Page {
    this.use(number);
    const page = (this.#pages[level] ??= new Page());
    if (!this.#file.read(number, page)) throw new Error('is missing: the file is too short');
    if (page.pageNumber !== number) throw new Error('is not the page that should be there');
    if (page.flags !== flags) throw new Error('is not of the kind that should be there');
    this.#checkTransaction(page.transaction);
    return page;
  }

  #checkTransaction(transaction: number): void {
    if (transaction > this.#head.transaction) throw new Error(toCome);
  }

  /** The number of visited pages. */
  get pages(): number {
    return this.#count;
  }

  /** Marks a page as used, which may happen only once. */
  use(number: number): void {
    if (!(number >= 2 && number <= this.#head.lastPage)) throw new Error('is not in the file');
    if (this.#used[number] !== 0) throw new Error('is used twice');
    this.#used[number] = 1;
    this.#count += 1;
  }
}

interface TreePosition {
  /** 1 is the root. */
  readonly level: number;
  readonly head: TreeHead;
  readonly visitor: TreeVisitor;
  readonly counts: Counts;
}

/** Nodes fill the space up to the end of the page without gaps, in any order. */
function checkNodes(page: Page, flags: number): void {
  const { lower, upper, count } = page;
  if (lower % 2 !== 0 || lower > upper || upper > roomBytes || count === 0) {
    throw new Error('has impossible bounds');
  }
  let filled = 0;
  for (let index = 0; index < count; index += 1) {
    const node = page.nodeAt(index);
    const isOutside = node < upper + headerBytes || node + nodeBytes > pageBytes || node % 2 !== 0;
    const bytes = isOutside ? pageBytes : nodeBytes + nodeDataBytes(page, node, flags);
    if (isOutside || node + bytes > pageBytes) throw new Error('has an entry outside of itself');
    filled += bytes + (bytes % 2);
  }
  if (filled !== roomBytes - upper) throw new Error('has entries that do not fill it');
}

function nodeDataBytes(page: Page, node: number, flags: number): number {
  const keyBytes = page.keyBytesOf(node);
  if (flags === pageFlags.branch) return keyBytes;
  const nodeFlagsFound = page.nodeFlagsOf(node);
  if ((nodeFlagsFound & ~(nodeFlags.overflow | nodeFlags.tree)) !== 0) {
    throw new Error('has an entry of an unknown kind');
  }
  const isOverflow = (nodeFlagsFound & nodeFlags.overflow) !== 0;
  return keyBytes + (isOverflow ? overflowReferenceBytes : page.dataBytesOf(node));
}

/** The first key of a branch page is not used. */
function checkKeys(page: Page, bounds: Bounds, visitor: TreeVisitor, first: number): void {
  let before = first === 0 ? undefined : bounds.from;
  for (let index = first; index < page.count; index += 1) {
    const key = keyOf(page, index);
    const isLow = before !== undefined && visitor.compare(before, key) >= 0;
    if (isLow) throw new Error('has keys out of order');
    before = key;
  }
  if (first === 0 && bounds.from !== undefined && visitor.compare(bounds.from, keyOf(page, 0)) > 0)
    throw new Error('has keys that belong elsewhere');
  const last = before;
  if (last !== undefined && bounds.to !== undefined && visitor.compare(last, bounds.to) >= 0) {
    throw new Error('has keys that belong elsewhere');
  }
}

function keyOf(page: Page, index: number): Bytes {
  const node = page.nodeAt(index);
  const at = node + nodeBytes;
  return page.bytes.subarray(at, at + page.keyBytesOf(node));
}

function numberAt(bytes: Bytes, at: number): number {
  return Number(new DataView(bytes.buffer, bytes.byteOffset + at, 8).getBigUint64(0, true));
}

function wordsOf(name: string): string {
  return name.replace(/[A-Z]/, (letter) => ` ${letter.toLowerCase()}`);
}
