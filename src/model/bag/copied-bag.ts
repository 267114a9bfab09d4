import {
  bagFormat,
  firstProperty,
  propertyHeaderBytes,
  writeHeader,
  writeU16,
  writeU32,
} from './bag-layout.js';
import { propertySize } from '../edm/entity-size.js';
import type { PropertyBag } from '../edm/value.js';

const comma = 0x2c;

/**
 * The numbers stored for a fragment: its range in the source, tag, bytes of its name and
 * annotation.
 */
const fragmentWords = 5;

/** The bytes of a property's name and of its annotation in a fragment. */
export interface FragmentNames {
  /** The name is ASCII: this is its length as well. */
  readonly nameBytes: number;
  /** 0 for a type that JSON shows by itself. */
  readonly annotationBytes: number;
}

/**
 * Builds bags whose fragments stand in a source of bytes just as bags spell them: `begin`,
 * fragments, `finish`. Names differ, and names and values are within their limits: the caller has
 * made sure. In the source each fragment has a byte before it, in place of its comma.
 */
export class CopiedBag {
  readonly #words: Uint32Array;
  #count = 0;
  #textBytes = 0;
  #propertyBytes = 0;

  constructor(countMax: number) {
    this.#words = new Uint32Array(countMax * fragmentWords);
  }

  begin(): void {
    this.#count = 0;
    this.#textBytes = 0;
    this.#propertyBytes = 0;
  }

  get count(): number {
    return this.#count;
  }

  /**
   * Adds the fragment from `start` to `end`, without its comma. `valueSize`: the bytes that the
   * service charges for its value. At most as many fragments as given to the constructor.
   */
  add(names: FragmentNames, tag: number, start: number, end: number, valueSize: number): void {
    const word = this.#count * fragmentWords;
    const { nameBytes } = names;
    this.#words[word] = start;
    this.#words[word + 1] = end;
    this.#words[word + 2] = tag;
    this.#words[word + 3] = nameBytes;
    this.#words[word + 4] = names.annotationBytes;
    this.#count += 1;
    this.#textBytes += end - start + 1;
    this.#propertyBytes += propertySize(nameBytes, valueSize);
  }

  /** The bag of all that was added since `begin`, in memory of its own. */
  finish(source: Buffer): PropertyBag {
    const words = this.#words;
    const count = this.#count;
    const textStart = firstProperty + count * propertyHeaderBytes + 4;
    const bag = Buffer.allocUnsafe(textStart + this.#textBytes);
    bag[0] = bagFormat;
    writeU16(bag, 1, count);
    let header = firstProperty;
    let to = textStart;
    // Fragments that follow each other in the source are copied together, with their commas.
    let runStart = 0;
    let runEnd = -1;
    for (let word = 0; word < count * fragmentWords; word += fragmentWords) {
      const before = (words[word] ?? 0) - 1;
      const end = words[word + 1] ?? 0;
      if (before !== runEnd) {
        if (runEnd > runStart) copyRun(bag, to - runEnd + runStart, source, runStart, runEnd);
        runStart = before;
      }
      runEnd = end;
      writeHeader(
        bag,
        header,
        to,
        words[word + 2] ?? 0,
        words[word + 3] ?? 0,
        words[word + 4] ?? 0,
      );
      header += propertyHeaderBytes;
      to += end - before;
    }
    if (runEnd > runStart) copyRun(bag, to - runEnd + runStart, source, runStart, runEnd);
    writeU32(bag, header, to);
    return {
      bag,
      count,
      propertyBytes: this.#propertyBytes,
      nameTooLong: false,
      valueTooLarge: false,
    };
  }
}

/** Copies fragments. In place of the first one's comma may stand another byte. */
function copyRun(bag: Buffer, at: number, source: Buffer, start: number, end: number): void {
  source.copy(bag, at, start, end);
  bag[at] = comma;
}
