import { nameOfBytes, type Bytes } from '../../base/bytes.js';
import {
  findProperty,
  firstProperty,
  hasName,
  headersEnd,
  nameLength,
  nameStart,
  propertyHeaderBytes,
} from '../../model/bag/bag.js';

/** The offset of a property's header in the bag of the current row; -1 where it is missing. */
export type Locate = (bag: Bytes) => number;

/** Up to this many names are searched one by one; more are found in one pass over the bag. */
const soughtMax = 32;

interface SoughtName {
  readonly name: Bytes;
  /** The number of tests that use it. */
  uses: number;
  /** The last row that was searched, and the result. */
  row: number;
  offset: number;
  /** The offset where it was found last: most rows of a table have the same layout. */
  usual: number;
}

/**
 * Finds the properties of a filter in a row, once per row whatever the number of comparisons. All
 * names are registered before the first row; `begin` starts each row.
 */
export class PropertyFinder {
  /** By UTF-8 bytes. */
  readonly #sought = new Map<string, SoughtName>();
  readonly #lengths = new Set<number>();
  #row = 0;
  /** The last row of a complete pass. */
  #passed = 0;

  /** The number of names. */
  get count(): number {
    return this.#sought.size;
  }

  /** True when results are cached per row, so that `begin` must be called. */
  get remembers(): boolean {
    if (this.count > soughtMax) return true;
    for (const { uses } of this.#sought.values()) if (uses > 1) return true;
    return false;
  }

  begin(): void {
    this.#row += 1;
  }

  locate(name: string): Locate {
    const sought = this.#soughtFor(Buffer.from(name, 'utf8'));
    sought.uses += 1;
    return (bag) => {
      if (this.count > soughtMax) return this.#look(bag, sought);
      return sought.uses === 1 ? find(bag, sought) : this.#seek(bag, sought);
    };
  }

  #soughtFor(name: Buffer): SoughtName {
    const text = nameOfBytes(name);
    const known = this.#sought.get(text);
    if (known !== undefined) return known;
    const sought: SoughtName = { name, uses: 0, row: 0, offset: -1, usual: firstProperty };
    this.#sought.set(text, sought);
    this.#lengths.add(name.length);
    return sought;
  }

  #seek(bag: Bytes, sought: SoughtName): number {
    if (sought.row !== this.#row) {
      sought.row = this.#row;
      sought.offset = find(bag, sought);
    }
    return sought.offset;
  }

  #look(bag: Bytes, sought: SoughtName): number {
    if (this.#passed !== this.#row) this.#pass(bag);
    return sought.row === this.#row ? sought.offset : -1;
  }

  /** Records the offset of each name in the bag. */
  #pass(bag: Bytes): void {
    this.#passed = this.#row;
    const end = headersEnd(bag);
    for (let at = firstProperty; at < end; at += propertyHeaderBytes) {
      const length = nameLength(bag, at);
      if (!this.#lengths.has(length)) continue;
      const start = nameStart(bag, at);
      const sought = this.#sought.get(nameOfBytes(bag, start, start + length));
      if (sought === undefined) continue;
      sought.row = this.#row;
      sought.offset = at;
    }
  }
}

function find(bag: Bytes, sought: SoughtName): number {
  const { name, usual } = sought;
  if (usual < headersEnd(bag) && hasName(bag, usual, name)) return usual;
  const found = findProperty(bag, name);
  if (found !== -1) sought.usual = found;
  return found;
}
