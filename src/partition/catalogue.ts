import { StoreDamagedError } from '../kv/errors.js';
import type { MemberStore } from '../kv/member-store.js';
import type { Check, CommitResult, Entry, KeyRange, Put } from '../kv/store.js';
import { keyAfter } from '../kv/tuple.js';
import type { Bytes } from '../base/bytes.js';
import {
  guardKey,
  heirsKey,
  mapKey,
  operationKey,
  operationRows,
  rangeKey,
  rangeRows,
  storeRowKey,
  storeRows,
} from './keys.js';
import type { Members } from './members.js';
import { RangeMap } from './range-map.js';
import {
  decodeIds,
  decodeMapRow,
  decodeOperationRow,
  decodeRangeRow,
  decodeStoreRow,
  encodeGuardRow,
  encodeMapRow,
  encodeRangeRow,
  type MapRow,
  type OperationRow,
  type RangeRow,
  type StoreRow,
  type Versioned,
} from './rows.js';

const pageOptions = { limit: 4_096, bytesMax: 4 << 20 } as const;

/** To find the heirs of a range takes no more reads than that; all ranges take about as many. */
const heirsReads = 8;

interface Writes {
  readonly checks: readonly Check[];
  readonly puts?: readonly Put[];
  readonly deletes?: readonly Bytes[];
}

/**
 * The rows that say which store has which range, and what is done to ranges. A change of ranges is
 * one commit.
 */
export class Catalogue {
  readonly #home: MemberStore;

  constructor(home: MemberStore) {
    this.#home = home;
  }

  /** The map of all ranges, as of one moment. */
  async map(): Promise<RangeMap> {
    for (;;) {
      const before = await this.mapRow();
      const rows = await readAll(this.#home, rangeRows, decodeRangeRow);
      const after = await this.mapRow();
      // Pages have a snapshot each.
      if (before.version !== after.version) continue;
      const map = RangeMap.of(rows.map(({ row }) => row));
      if (map !== undefined) return map;
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
   * The ranges that have taken the place of one that is no more; undefined when there are too many,
   * or when not all are known: then all ranges have to be read.
   */
  async heirs(id: number): Promise<readonly RangeRow[] | undefined> {
    const found: RangeRow[] = [];
    const left = [id];
    for (let reads = 0; left.length > 0; reads += 1) {
      const next = left.shift();
      if (next === undefined || reads === heirsReads) return undefined;
      const range = next === id ? undefined : await this.range(next);
      if (range !== undefined) {
        found.push(range.row);
        continue;
      }
      const heirs = await this.#home.get(heirsKey(next));
      if (heirs === undefined) return undefined;
      left.push(...decodeIds(heirs.value).filter((each) => !left.includes(each)));
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

  commit({ checks, puts = [], deletes = [] }: Writes): Promise<CommitResult> {
    return this.#home.commit({ checks, puts, deletes });
  }
}

/**
 * Makes the catalogue of a key space whose data are all in its home store, where there is none yet.
 * It has a range for the keys that stay there, if any do, and one for the others.
 */
export async function ensureCatalogue({ home, homeName, homeUntil }: Members): Promise<void> {
  if ((await home.get(mapKey)) !== undefined) return;
  const bounds = [Buffer.alloc(0), ...(homeUntil === undefined ? [] : [homeUntil])];
  const ranges = bounds.map((start, index): RangeRow => {
    const end = bounds[index + 1];
    return { id: index + 1, start, end, store: homeName, epoch: 1, operation: 0 };
  });
  const guard = { state: 'serving', epoch: 1, operation: 0, token: 0 } as const;
  // Where another process was faster, its catalogue is the one.
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
  store: MemberStore,
  range: KeyRange,
  decode: (value: Bytes) => Row,
): Promise<readonly Versioned<Row>[]> {
  const rows: Versioned<Row>[] = [];
  for (let rest = range; ;) {
    const page = await store.range(rest, pageOptions);
    for (const { value, version } of page.entries) rows.push({ row: decode(value), version });
    const last = page.entries.at(-1);
    if (!page.more || last === undefined) return rows;
    rest = { ...range, start: keyAfter(last.key) };
  }
}

export function versioned<Row>(
  entry: Entry | undefined,
  decode: (value: Bytes) => Row,
): Versioned<Row> | undefined {
  return entry === undefined ? undefined : { row: decode(entry.value), version: entry.version };
}
