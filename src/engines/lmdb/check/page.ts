import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import type { Bytes } from '../../../base/bytes.js';

/** Keys of up to 4,026 bytes need pages of 8 KiB; rows of 1 KB also scan faster than with 4 KiB. */
export const pageBytes = 8192;
/** Node offsets are relative to the end of the header. */
export const headerBytes = 24;
export const nodeBytes = 8;

export const pageFlags = { branch: 1, leaf: 2, overflow: 4, meta: 8 } as const;
/** Flags of a leaf node: its data are on overflow pages, or are the head of a tree. */
export const nodeFlags = { overflow: 1, tree: 2 } as const;

const highStep = 0x1_0000_0000;

/** A page of a data file somewhere in memory, as LMDB writes it on little endian machines. */
export class PageView {
  readonly #bytes: Bytes;
  readonly #words: Uint16Array;
  /** The place of the page in the bytes: an even number. */
  readonly #start: number;

  constructor(bytes: Bytes, words: Uint16Array, start: number) {
    this.#bytes = bytes;
    this.#words = words;
    this.#start = start;
  }

  /** A view of bytes of the page. */
  slice(at: number, length: number): Bytes {
    return this.#bytes.subarray(this.#start + at, this.#start + at + length);
  }

  /** A 16-bit number at an even offset. */
  word(at: number): number {
    return this.#words[(this.#start + at) >> 1] ?? 0;
  }

  /** A 32-bit number. */
  long(at: number): number {
    return this.word(at) + this.word(at + 2) * 0x1_0000;
  }

  /** A 64-bit number. Values beyond the safe integers are rounded, and stay beyond them. */
  number(at: number): number {
    return this.long(at) + this.long(at + 4) * highStep;
  }

  get pageNumber(): number {
    return this.number(0);
  }
  get transaction(): number {
    return this.number(8);
  }
  get flags(): number {
    return this.word(18);
  }
  /** The end of the node offsets, relative to the end of the header. */
  get lower(): number {
    return this.word(20);
  }
  /** The start of the nodes. */
  get upper(): number {
    return this.word(22);
  }
  /** The page count of an overflow value, on its first page. */
  get overflowPages(): number {
    return this.long(20);
  }
  get count(): number {
    return this.lower >> 1;
  }

  nodeAt(index: number): number {
    return this.word(headerBytes + 2 * index) + headerBytes;
  }
  keyBytesOf(node: number): number {
    return this.word(node + 6);
  }
  nodeFlagsOf(node: number): number {
    return this.word(node + 4);
  }
  dataBytesOf(node: number): number {
    return this.long(node);
  }
  childOf(node: number): number {
    return this.long(node) + this.word(node + 4) * highStep;
  }
}

/** A page in memory of its own, into which pages of a file are read. */
export class Page extends PageView {
  readonly bytes: Buffer;

  constructor() {
    const bytes = Buffer.alloc(pageBytes);
    super(bytes, new Uint16Array(bytes.buffer, bytes.byteOffset, pageBytes >> 1), 0);
    this.bytes = bytes;
  }
}

/** Reads a data file without mapping it, so that a truncated file cannot crash the process. */
export class PageFile implements Disposable {
  readonly #file: number;

  constructor(path: string) {
    this.#file = openSync(path, 'r');
  }

  get bytes(): number {
    return fstatSync(this.#file).size;
  }

  /** Returns false when the file ends before the page does. */
  read(pageNumber: number, into: Page): boolean {
    return this.readBytes(pageNumber * pageBytes, into.bytes);
  }

  readBytes(at: number, into: Bytes): boolean {
    for (let done = 0; done < into.length;) {
      const count = readSync(this.#file, into, done, into.length - done, at + done);
      if (count === 0) return false;
      done += count;
    }
    return true;
  }

  [Symbol.dispose](): void {
    closeSync(this.#file);
  }
}
