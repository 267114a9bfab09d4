import type { Bytes } from '../../base/bytes.js';
import { hasName } from '../edm/bag.js';
import { textBytes } from '../edm/text.js';

/** What a `$select` list shows of each entity, prepared once for a response. */
export class Selection {
  readonly partitionKey: boolean;
  readonly rowKey: boolean;
  readonly timestamp: boolean;
  /** The client's own properties, in the order asked. */
  readonly names: readonly string[];
  readonly #nameBytes: readonly Bytes[];
  readonly #found: Uint8Array;
  #next = 0;

  constructor(select: readonly string[]) {
    this.partitionKey = select.includes('PartitionKey');
    this.rowKey = select.includes('RowKey');
    this.timestamp = select.includes('Timestamp');
    this.names = select.filter((name) => !isSystemName(name));
    this.#nameBytes = this.names.map(textBytes);
    this.#found = new Uint8Array(this.names.length);
  }

  /** Forgets which names the last entity had. */
  begin(): void {
    this.#found.fill(0);
    this.#next = 0;
  }

  /**
   * Whether the property whose header is at `at` is shown. The search starts behind the last hit,
   * because lists tend to follow the order in which properties are stored.
   */
  take(bag: Bytes, at: number): boolean {
    const count = this.#nameBytes.length;
    for (let step = 0; step < count; step++) {
      const index = this.#next + step < count ? this.#next + step : this.#next + step - count;
      const name = this.#nameBytes[index];
      if (name !== undefined && hasName(bag, at, name)) {
        this.#found[index] = 1;
        this.#next = index + 1 < count ? index + 1 : 0;
        return true;
      }
    }
    return false;
  }

  /** The names that the entity did not have. */
  missing(): readonly string[] {
    return this.names.filter((_, index) => this.#found[index] === 0);
  }
}

function isSystemName(name: string): boolean {
  return name === 'PartitionKey' || name === 'RowKey' || name === 'Timestamp';
}
