import { StoreDamagedError } from '../kv/errors.js';
import type { MemberStore } from '../kv/member-store.js';
import type { Check, CommitResult, Entry, KeyRange, Put } from '../kv/store.js';
import { pagesOf } from '../kv/pages.js';
import type { Bytes } from '../base/bytes.js';
import {
  guardKey,
  lostKey,
  lostRows,
  successorsKey,
  mapKey,
  operationKey,
  operationRows,
  rangeKey,
  rangeRows,
  storeRowKey,
  storeRows,
  verificationKey,
} from './keys.js';
import type { Members } from './members.js';
import { RangeMap } from './range-map.js';
import {
  decodeIds,
  decodeLostRow,
  decodeMapRow,
  decodeOperationRow,
  decodeRangeRow,
  decodeStoreRow,
  decodeVerificationRow,
  encodeGuardRow,
  encodeMapRow,
  encodeRangeRow,
  type LostRow,
  type MapRow,
  type OperationRow,
  type RangeRow,
  type StoreRow,
  type VerificationRow,
  type Versioned,
} from './rows.js';

const pageOptions = { limit: 4_096, bytesMax: 4 << 20 } as const;

/** Reads at most to find the successors of a range; reading all ranges takes about as many. */
const successorReads = 8;

/** What the catalogue asks of the home store. */
type CatalogueStore = Pick<MemberStore, 'get' | 'range' | 'commit'>;

interface Writes {
  readonly checks: readonly Check[];
  readonly puts?: readonly Put[];
  readonly deletes?: readonly Bytes[];
}

/**
 * Which store has which range, and which operations are under way, as rows of the home store.
 * Ranges are changed by one commit.
 */
export class Catalogue {
  readonly #home: CatalogueStore;

  constructor(home: CatalogueStore) {
    this.#home = home;
  }

  /** The map of all ranges, as of one moment. */
  async map(): Promise<RangeMap> {
    return (await this.#read()).map;
  }

  /**
   * The rows of all ranges, which cover the key space as at one moment. Each has a version of its
   * own: an operation that begins or ends writes it.
   */
  async ranges(): Promise<readonly Versioned<RangeRow>[]> {
    return (await this.#read()).rows;
  }

  async #read() {
    for (;;) {
      const before = await this.mapRow();
      const rows = await readAll(this.#home, rangeRows, decodeRangeRow);
      const after = await this.mapRow();
      // Each page has a snapshot of its own, so the map may have changed between two of them.
      if (before.version !== after.version) continue;
      const map = RangeMap.of(rows.map(({ row }) => row));
      if (map !== undefined) return { map, rows };
      throw new StoreDamagedError('The ranges of the catalogue do not cover the key space.');
    }
  }

  async mapRow(): Promise<Versioned<MapRow>> {
    const entry = await this.#home.get(mapKey);
    const found = versioned(entry, decodeMapRow);
    if (found !== undefined) return found;
    throw new StoreDamagedError('The home store has no catalogue.');
  }

  async range(id: number): Promise<Versioned<RangeRow> | undefined> {
    return versioned(await this.#home.get(rangeKey(id)), decodeRangeRow);
  }

  /**
   * The ranges that replaced one that was split or merged. Undefined when finding them would take
   * too many reads, or when some are unknown; the caller then reads all ranges.
   */
  async successors(id: number): Promise<readonly RangeRow[] | undefined> {
    const found: RangeRow[] = [];
    const left = [id];
    for (let reads = 0; left.length > 0; reads += 1) {
      const next = left.shift();
      if (next === undefined || reads === successorReads) return undefined;
      const range = next === id ? undefined : await this.range(next);
      if (range !== undefined) {
        found.push(range.row);
        continue;
      }
      const successors = await this.#home.get(successorsKey(next));
      if (successors === undefined) return undefined;
      left.push(...decodeIds(successors.value).filter((each) => !left.includes(each)));
    }
    return found;
  }

  async operation(id: number): Promise<Versioned<OperationRow> | undefined> {
    return versioned(await this.#home.get(operationKey(id)), decodeOperationRow);
  }

  async operations(): Promise<readonly Versioned<OperationRow>[]> {
    return readAll(this.#home, operationRows, decodeOperationRow);
  }

  async store(name: string): Promise<Versioned<StoreRow> | undefined> {
    return versioned(await this.#home.get(storeRowKey(name)), decodeStoreRow);
  }

  /** The stores that the catalogue knows, in the order of their names. */
  async stores(): Promise<readonly Versioned<StoreRow>[]> {
    return readAll(this.#home, storeRows, decodeStoreRow);
  }

  /** The row of a store that is lost for good. */
  async lostStore(name: string): Promise<LostRow | undefined> {
    return versioned(await this.#home.get(lostKey(name)), decodeLostRow)?.row;
  }

  /** How far a comparison of the ranges with the stores has come. */
  async verification(): Promise<Versioned<VerificationRow> | undefined> {
    return versioned(await this.#home.get(verificationKey), decodeVerificationRow);
  }

  /** The stores that are lost for good, in the order of their names. */
  async lostStores(): Promise<readonly LostRow[]> {
    return (await readAll(this.#home, lostRows, decodeLostRow)).map(({ row }) => row);
  }

  commit({ checks, puts = [], deletes = [] }: Writes): Promise<CommitResult> {
    return this.#home.commit({ checks, puts, deletes });
  }
}

/**
 * Creates the catalogue, unless there is one. All data are in the home store then. One range has
 * the keys that must stay there, if any must, and one has all others.
 */
export async function ensureCatalogue({ home, homeName, homeUntil }: Members): Promise<void> {
  if ((await home.get(mapKey)) !== undefined) return;
  const bounds = [Buffer.alloc(0), ...(homeUntil === undefined ? [] : [homeUntil])];
  const ranges = bounds.map((start, index): RangeRow => {
    const end = bounds[index + 1];
    return { id: index + 1, start, end, store: homeName, epoch: 1, operation: 0 };
  });
  const guard = { state: 'serving', epoch: 1, operation: 0, token: 0 } as const;
  // Does nothing when another process has created the catalogue meanwhile.
  await home.fence({
    checks: [{ key: mapKey, version: 'absent' }],
    puts: [
      { key: mapKey, value: encodeMapRow({ version: 1, nextId: ranges.length + 1 }) },
      ...ranges.flatMap((range) => [
        { key: rangeKey(range.id), value: encodeRangeRow(range) },
        { key: guardKey(range.id), value: encodeGuardRow(guard) },
      ]),
    ],
    deletes: [],
  });
}

/** All rows of an interval, read in pages. */
export async function readAll<Row>(
  store: Pick<MemberStore, 'range'>,
  range: KeyRange,
  decode: (value: Bytes) => Row,
): Promise<readonly Versioned<Row>[]> {
  const rows: Versioned<Row>[] = [];
  for await (const entries of pagesOf(store, range, pageOptions)) {
    for (const { value, version } of entries) rows.push({ row: decode(value), version });
  }
  return rows;
}

export function versioned<Row>(
  entry: Entry | undefined,
  decode: (value: Bytes) => Row,
): Versioned<Row> | undefined {
  return entry === undefined ? undefined : { row: decode(entry.value), version: entry.version };
}
