import type { Bytes } from '../../../base/bytes.js';
import type { KeyRange } from '../../../kv/store.js';
import { versionBytes } from '../check/check.js';
import { headerBytes, nodeBytes, nodeFlags, pageBytes, pageFlags } from '../check/page.js';
import { checksumBytes } from '../rows/record.js';
import { MalformedTreeError } from './malformed-tree-error.js';
import { MappedRow } from './mapped-row.js';
import type { MappedPages, Window } from './mapped-pages.js';
import type { VerifiedPages, VerifiedSpan } from './verified-pages.js';

/** Where a page has its transaction, its flags, and the end of the offsets of its entries. */
const [transactionAt, flagsAt, lowerAt] = [8, 18, 20];
const roomBytes = pageBytes - headerBytes;

/** A tree of a snapshot that is not empty. */
export interface MappedTree {
  readonly pages: Pick<MappedPages, 'count' | 'windowOf' | 'offsetOf'>;
  readonly root: number;
  readonly depth: number;
  /** The last page of the file in this snapshot. */
  readonly lastPage: number;
  readonly verified: VerifiedPages;
}

/**
 * The rows of a range of a tree, in order, read from the mapped pages. Valid as long as the process
 * has a snapshot open that is not newer than the tree.
 */
export class MappedRows {
  readonly row: MappedRow;
  readonly #tree: MappedTree;
  readonly #end: Bytes | undefined;
  /** For each level above the leaves: its page, and the position of the child in it. */
  readonly #branches: number[] = [];
  readonly #positions: number[] = [];
  #window: Window;
  /** The leaf, its place in its window, its next entry, and the end of its wanted entries. */
  #leaf = 0;
  #leafAt = 0;
  #index = 0;
  #behind = 0;
  #isLast = false;
  /** What was verified of the leaf; undefined until that is asked for. */
  #verified: VerifiedSpan | undefined;

  /** Throws `MalformedTreeError`, as `next` does. */
  constructor(tree: MappedTree, { start, end }: KeyRange) {
    this.#tree = tree;
    this.#end = end;
    this.#window = tree.pages.windowOf(tree.root);
    this.row = new MappedRow(this.#window);
    this.#descend(tree.root, 1, start);
    this.#index = this.#firstFrom(start, 0, this.#countOf(this.#leafAt));
    this.#findEnd();
  }

  /** Moves to the next row. Returns false behind the last one. */
  next(): boolean {
    while (this.#index >= this.#behind) {
      if (this.#isLast || !this.#nextLeaf()) return false;
    }
    this.#show(this.#index);
    this.#index += 1;
    return true;
  }

  /** Whether the row was verified lately. */
  isVerified(): boolean {
    const { from, to } = (this.#verified ??= this.#spanOfLeaf());
    return this.#index > from && this.#index <= to;
  }

  /** Notes that a row that did not count as verified was verified. */
  noteVerified(): void {
    const index = this.#index - 1;
    const { from, to } = (this.#verified ??= this.#spanOfLeaf());
    // Rows apart from those that are known replace them.
    if (index === to) this.#verified = { from, to: index + 1 };
    else if (index + 1 === from) this.#verified = { from: index, to };
    else this.#verified = { from: index, to: index + 1 };
    this.#tree.verified.keep(this.#leaf, this.#transactionOfLeaf(), this.#verified);
  }

  #spanOfLeaf(): VerifiedSpan {
    return this.#tree.verified.spanOf(this.#leaf, this.#transactionOfLeaf());
  }

  /** The lower half of its number. */
  #transactionOfLeaf(): number {
    return this.#window.numbers.getInt32(this.#leafAt + transactionAt, true);
  }

  #show(index: number): void {
    const window = this.#window;
    const node = this.#nodeOf(this.#leafAt, index);
    const { words } = window;
    const at = node >> 1;
    const bytes = (words[at] ?? 0) + (words[at + 1] ?? 0) * 0x1_0000;
    const flags = words[at + 2] ?? 0;
    const keyBytes = words[at + 3] ?? 0;
    const key = node + nodeBytes;
    const data = key + keyBytes;
    const isLong = flags === nodeFlags.overflow;
    const isOutside = data + (isLong ? 8 : bytes) > this.#leafAt + pageBytes;
    if (isOutside || (flags !== 0 && !isLong) || bytes < versionBytes + checksumBytes) {
      throw new MalformedTreeError('a page with entries has one that is none');
    }
    this.row.showKey(window, key, keyBytes);
    if (isLong) this.#showLong(data, bytes);
    else this.row.showData(window, data, bytes);
  }

  #showLong(reference: number, bytes: number): void {
    const { pages } = this.#tree;
    const { numbers } = this.#window;
    const page =
      numbers.getUint32(reference, true) + numbers.getUint32(reference + 4, true) * 2 ** 32;
    const at = this.#placeOf(page, pageFlags.overflow) + headerBytes;
    const window = pages.windowOf(page);
    const last = page + Math.ceil((headerBytes + bytes) / pageBytes) - 1;
    if (last > this.#tree.lastPage || at + bytes > window.bytes.length) {
      throw new MalformedTreeError('a value is longer than the file');
    }
    this.row.showData(window, at, bytes);
  }

  /** Follows a key to its leaf. Without a key: to the first leaf. */
  #descend(from: number, level: number, key: Bytes | undefined): void {
    let number = from;
    for (let at = level; at < this.#tree.depth; at += 1) {
      const page = this.#placeOf(number, pageFlags.branch);
      const window = this.#tree.pages.windowOf(number);
      this.#window = window;
      // The first key of a branch page is not used: its child has all keys before the second.
      const behind = key === undefined ? 1 : this.#firstBehind(key, page);
      this.#branches[at] = number;
      this.#positions[at] = behind - 1;
      number = this.#childOf(page, behind - 1);
    }
    this.#leafAt = this.#placeOf(number, pageFlags.leaf);
    this.#leaf = number;
    this.#verified = undefined;
    this.#window = this.#tree.pages.windowOf(number);
  }

  #nextLeaf(): boolean {
    for (let level = this.#tree.depth - 1; level >= 1; level -= 1) {
      const number = this.#branches[level] ?? 0;
      const position = (this.#positions[level] ?? 0) + 1;
      const page = this.#placeOf(number, pageFlags.branch);
      this.#window = this.#tree.pages.windowOf(number);
      if (position >= this.#countOf(page)) continue;
      this.#positions[level] = position;
      this.#descend(this.#childOf(page, position), level + 1, undefined);
      this.#index = 0;
      this.#findEnd();
      return true;
    }
    return false;
  }

  /** Finds which entries of the leaf are before the end of the range. */
  #findEnd(): void {
    const count = this.#countOf(this.#leafAt);
    this.#behind = count;
    const end = this.#end;
    if (end === undefined || count === 0) return;
    if (this.#compare(this.#leafAt, count - 1, end) < 0) return;
    this.#behind = this.#firstFrom(end, this.#index, count);
    this.#isLast = true;
  }

  /** The first entry of the leaf whose key is not less. */
  #firstFrom(key: Bytes, from: number, to: number): number {
    let [low, high] = [from, to];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#compare(this.#leafAt, middle, key) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The first entry of a branch page, after its first, whose key is greater. */
  #firstBehind(key: Bytes, page: number): number {
    let [low, high] = [1, this.#countOf(page)];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#compare(page, middle, key) <= 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Compares the key of an entry with another one. */
  #compare(page: number, index: number, key: Bytes): number {
    const node = this.#nodeOf(page, index);
    const { bytes, words } = this.#window;
    const length = words[(node >> 1) + 3] ?? 0;
    const start = node + nodeBytes;
    const shorter = Math.min(length, key.length);
    for (let at = 0; at < shorter; at += 1) {
      const difference = (bytes[start + at] ?? 0) - (key[at] ?? 0);
      if (difference !== 0) return difference;
    }
    return length - key.length;
  }

  #childOf(page: number, index: number): number {
    const { words } = this.#window;
    const at = this.#nodeOf(page, index) >> 1;
    const low = (words[at] ?? 0) + (words[at + 1] ?? 0) * 0x1_0000;
    return low + (words[at + 2] ?? 0) * 2 ** 32;
  }

  /** The place in its window of an entry of the page at `page`. */
  #nodeOf(page: number, index: number): number {
    const node = this.#window.words[(page + headerBytes + 2 * index) >> 1] ?? pageBytes;
    if (node + headerBytes + nodeBytes > pageBytes) {
      throw new MalformedTreeError('a page has an entry outside of itself');
    }
    return page + node + headerBytes;
  }

  #countOf(page: number): number {
    const lower = this.#window.words[(page + lowerAt) >> 1] ?? 0;
    if (lower % 2 !== 0 || lower > roomBytes) {
      throw new MalformedTreeError('a page has more entries than it has room for');
    }
    return lower >> 1;
  }

  /** The place of a page in its window. */
  #placeOf(number: number, flags: number): number {
    const { pages, lastPage } = this.#tree;
    if (!(number >= 2 && number <= lastPage && number < pages.count)) {
      throw new MalformedTreeError(`page ${number} is not in the file`);
    }
    const { words } = pages.windowOf(number);
    const at = pages.offsetOf(number);
    if (words[(at + flagsAt) >> 1] !== flags) {
      throw new MalformedTreeError(`page ${number} is not of the kind that should be there`);
    }
    return at;
  }
}
