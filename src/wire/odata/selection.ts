import { nameOfBytes, type Bytes } from '../../base/bytes.js';
import { hasName, nameLength, nameStart } from '../../model/bag/bag.js';
import { jsonText } from '../../model/bag/json-bytes.js';
import { textBytes } from '../../model/bag/text.js';

/** Up to this many names, comparing each is faster than a map. */
const comparedMax = 16;

/** A `$select` list, prepared once for a response. */
export class Selection {
  readonly partitionKey: boolean;
  readonly rowKey: boolean;
  readonly timestamp: boolean;
  /** The client's own properties, in the order asked. */
  readonly names: readonly string[];
  readonly #nameBytes: readonly Bytes[];
  /** Positions of many names, by their UTF-8 bytes. */
  readonly #places: ReadonlyMap<string, number> | undefined;
  readonly #nulls: readonly Bytes[];
  readonly #found: Uint8Array;
  #next = 0;

  constructor(select: readonly string[]) {
    this.partitionKey = select.includes('PartitionKey');
    this.rowKey = select.includes('RowKey');
    this.timestamp = select.includes('Timestamp');
    this.names = select.filter((name) => !isSystemName(name));
    this.#nameBytes = this.names.map(textBytes);
    this.#nulls = this.names.map((name) => Buffer.from(nullMember(name)));
    this.#places =
      this.names.length > comparedMax
        ? new Map(this.#nameBytes.map((name, index) => [nameOfBytes(name), index]))
        : undefined;
    this.#found = new Uint8Array(this.names.length);
  }

  /** Begins an entity: forgets the names found in the last one. */
  begin(): void {
    this.#found.fill(0);
    this.#next = 0;
  }

  /**
   * True when the property whose header is at `at` is selected. The search starts after the last
   * hit, because lists tend to follow the stored order of properties.
   */
  take(bag: Bytes, at: number): boolean {
    const index = this.#placeOf(bag, at);
    if (index === -1) return false;
    this.#found[index] = 1;
    this.#next = index + 1 < this.names.length ? index + 1 : 0;
    return true;
  }

  #placeOf(bag: Bytes, at: number): number {
    const count = this.#nameBytes.length;
    const stepsMax = this.#places === undefined ? count : 1;
    for (let step = 0; step < stepsMax; step++) {
      const index = this.#next + step < count ? this.#next + step : this.#next + step - count;
      const name = this.#nameBytes[index];
      if (name !== undefined && hasName(bag, at, name)) return index;
    }
    if (this.#places === undefined) return -1;
    const start = nameStart(bag, at);
    return this.#places.get(nameOfBytes(bag, start, start + nameLength(bag, at))) ?? -1;
  }

  /** Calls back with `,"name":null` for each name that the entity lacks. */
  forMissing(each: (member: Bytes) => void): void {
    for (const [index, member] of this.#nulls.entries()) {
      if (this.#found[index] === 0) each(member);
    }
  }
}

/** The bytes of the null members for a list of names: the output of an empty entity. */
export function nullBytes(select: readonly string[]): number {
  return select.reduce((bytes, name) => bytes + Buffer.byteLength(nullMember(name)), 0);
}

function nullMember(name: string): string {
  return `,"${jsonText(name)}":null`;
}

function isSystemName(name: string): boolean {
  return name === 'PartitionKey' || name === 'RowKey' || name === 'Timestamp';
}
