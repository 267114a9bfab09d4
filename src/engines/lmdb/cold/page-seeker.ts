import { compareBytes, type Bytes } from '../../../base/bytes.js';
import { entriesTreeOf } from '../check/check.js';
import { nodeBytes, nodeFlags, Page, pageBytes, type PageFile } from '../check/page.js';
import { readSnapshotHead, type TreeHead } from '../check/snapshot-head.js';

/** The entries that a read will need: the first from `start` on, or the last before `end`. */
export interface NeededEntries {
  readonly start: Bytes;
  /** Not included. Absent: after every key. */
  readonly end?: Bytes | undefined;
  readonly isReverse: boolean;
  /** The maximum number of pages with entries or long values. */
  readonly leavesMax: number;
}

/**
 * The bound of `leavesMax`: about as many as an answer needs, so that others need not wait long.
 */
export const leavesAtOnceMax = 128;
/** Neighbouring pages that are read with one call. */
const runPagesMax = 16;
/** Far more branch pages than a read needs. A page that changes meanwhile may lead in circles. */
const branchesMax = 100;
/** No data file has deeper trees. */
const depthMax = 32;

/**
 * Reads the pages of a data file that a read will need, only to bring them into the cache of the
 * system. The file may change meanwhile, so the content found is used for nothing else, and
 * unexpected pages are skipped.
 */
export class PageSeeker {
  readonly #file: PageFile;
  readonly #pages: Page[] = [];
  readonly #leaf = new Page();
  readonly #run = Buffer.alloc(runPagesMax * pageBytes);

  constructor(file: PageFile) {
    this.#file = file;
  }

  /** Throws when the file cannot be read. */
  read(all: readonly NeededEntries[]): void {
    const entries = this.#entriesTree();
    if (entries === undefined || entries.depth > depthMax) return;
    for (const wanted of all) {
      const { depth, root } = entries;
      this.#below(root, 1, { wanted, depth, left: wanted.leavesMax, branchesLeft: branchesMax });
    }
  }

  #entriesTree(): TreeHead | undefined {
    const { main } = readSnapshotHead(this.#file);
    const page = this.#pageOf(main.root, 0);
    return page === undefined ? undefined : entriesTreeOf(page);
  }

  #below(number: number, level: number, search: Search): void {
    if (level === search.depth) {
      this.#leaves([number], search);
      return;
    }
    search.branchesLeft -= 1;
    const page = search.branchesLeft < 0 ? undefined : this.#pageOf(number, level);
    if (page === undefined) return;
    const children = childrenOf(page, search);
    if (level + 1 === search.depth) this.#leaves(children.slice(0, search.left), search);
    else for (const child of children) if (search.left > 0) this.#below(child, level + 1, search);
  }

  /** Reads pages from the last to the first, which causes no read-ahead of megabytes. */
  #leaves(numbers: readonly number[], search: Search): void {
    search.left -= numbers.length;
    for (const { first, count } of runsOf(numbers)) {
      const run = this.#run.subarray(0, count * pageBytes);
      if (!this.#file.readBytes(first * pageBytes, run)) continue;
      for (let at = 0; at < run.length; at += pageBytes) {
        run.copy(this.#leaf.bytes, 0, at, at + pageBytes);
        this.#longValues(search);
      }
    }
  }

  /** Reads the values that have pages of their own. */
  #longValues(search: Search): void {
    const page = this.#leaf;
    for (let index = 0; index < page.count; index += 1) {
      const node = page.nodeAt(index);
      if (page.nodeFlagsOf(node) !== nodeFlags.overflow) continue;
      if (search.left <= 0 || !isWithin(keyOf(page, index), search.wanted)) continue;
      const reference = node + nodeBytes + page.keyBytesOf(node);
      if (reference + 8 > pageBytes) continue;
      const count = Math.ceil((page.dataBytesOf(node) + nodeBytes) / pageBytes);
      this.#long(Number(page.bytes.readBigUInt64LE(reference)), Math.min(count, search.left));
      search.left -= count;
    }
  }

  #long(first: number, count: number): void {
    for (let at = count; at > 0; at -= runPagesMax) {
      const from = Math.max(0, at - runPagesMax);
      const run = this.#run.subarray(0, (at - from) * pageBytes);
      this.#file.readBytes((first + from) * pageBytes, run);
    }
  }

  #pageOf(number: number, level: number): Page | undefined {
    const page = (this.#pages[level] ??= new Page());
    return this.#file.read(number, page) && page.pageNumber === number ? page : undefined;
  }
}

interface Search {
  readonly wanted: NeededEntries;
  readonly depth: number;
  /** Pages with entries or long values that may still be read. */
  left: number;
  branchesLeft: number;
}

/** The children that may have wanted keys, in the order of the read. */
function childrenOf(page: Page, { wanted }: Search): number[] {
  const { start, end, isReverse } = wanted;
  const children: number[] = [];
  for (let index = 0; index < page.count; index += 1) {
    // The first key of a branch page is not used: its child has all keys before the second.
    if (index > 0 && end !== undefined && compareBytes(keyOf(page, index), end) >= 0) break;
    const isLast = index + 1 >= page.count;
    if (!isLast && compareBytes(keyOf(page, index + 1), start) <= 0) continue;
    children.push(page.childOf(page.nodeAt(index)));
  }
  return isReverse ? children.toReversed() : children;
}

function isWithin(key: Bytes, { start, end }: NeededEntries): boolean {
  if (compareBytes(key, start) < 0) return false;
  return end === undefined || compareBytes(key, end) < 0;
}

function keyOf(page: Page, index: number): Bytes {
  const node = page.nodeAt(index);
  const at = node + nodeBytes;
  return page.bytes.subarray(at, at + page.keyBytesOf(node));
}

/** Runs of neighbouring pages, the last of the file first. */
function runsOf(numbers: readonly number[]): { readonly first: number; readonly count: number }[] {
  const runs: { first: number; count: number }[] = [];
  for (const number of numbers.toSorted((left, right) => right - left)) {
    const last = runs.at(-1);
    const goesOn = last !== undefined && last.first === number + 1 && last.count < runPagesMax;
    if (!goesOn) runs.push({ first: number, count: 1 });
    else {
      last.first = number;
      last.count += 1;
    }
  }
  return runs;
}
