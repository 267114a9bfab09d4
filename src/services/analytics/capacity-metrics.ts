import { compareBytes, equalBytes, type Bytes } from '../../base/bytes.js';
import type { Clock } from '../../base/clock.js';
import type { Entry, KeyRange, Store } from '../../kv/store.js';
import { appendString, keyAfter, prefixRange } from '../../kv/tuple.js';
import {
  capacityRows,
  capacityTableName,
  dayStart,
  metricsPartitionKey,
} from '../../model/analytics/metrics-table.js';
import { propertyBagOf } from '../../model/bag/bag.js';
import type { EdmValue } from '../../model/edm/value.js';
import type { ServicePropertiesService } from '../accounts/service-properties.js';
import { decodeBlobRecord, type BlobRecord } from '../blobs/blob-record.js';
import { containerKind } from '../blobs/container-record.js';
import { blobKind, kindOfKey, type BlobKeyKind } from '../blobs/keys.js';
import { decodeBlock, decodeSegments, type Segment } from '../blobs/segments.js';
import { containerNamesPrefix, containerPrefix } from '../containers/keys.js';
import type { Reclaimed } from '../containers/sweep-cursor.js';
import { accountsOf, entriesOf } from '../containers/walk.js';
import type { TableService } from '../tables/table-service.js';
import { logContainer } from './log-name.js';

export interface CapacityMetricsOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly tables: TableService;
  readonly properties: ServicePropertiesService;
}

/** The number of objects and bytes of an account, of one kind. */
interface Capacity {
  bytes: number;
  containers: number;
  objects: number;
}

/**
 * The kinds of entries that refer to bytes. The other entries of a blob are these bytes, or count
 * references.
 */
const counted: ReadonlySet<BlobKeyKind | undefined> = new Set([
  blobKind.base,
  blobKind.version,
  blobKind.block,
  blobKind.chunk,
  blobKind.page,
]);

/** Keys that one step passes over, and the bytes of records that it takes. */
const passedMax = 2_000;
const pageBytesMax = 1 << 20;

/**
 * Measures once a day what each account stores in blobs, and writes it (blob-service §22.3), where
 * hour metrics of blobs are on. It walks over all blobs in bounded steps while requests change
 * them, so the sums do not belong to a single moment. After a restart the walk begins again; a day
 * that has its rows is not measured again.
 */
export class CapacityMetrics {
  readonly #options: CapacityMetricsOptions;
  #round: AsyncGenerator<void> | undefined;
  /** The day of the present round or, between rounds, of the last one. */
  #dayMicros = -1;

  constructor(options: CapacityMetricsOptions) {
    this.#options = options;
  }

  /** One step; deletes nothing. `more`: the day is not measured yet. */
  async step(): Promise<Reclaimed> {
    const dayMicros = dayStart(this.#options.clock.nowMicros());
    if (this.#round === undefined) {
      if (dayMicros === this.#dayMicros) return { deleted: 0, more: false };
      this.#dayMicros = dayMicros;
      this.#round = this.#measure(dayMicros);
    }
    try {
      const { done = false } = await this.#round.next();
      if (done) this.#round = undefined;
      return { deleted: 0, more: !done };
    } catch (error) {
      this.#round = undefined;
      this.#dayMicros = -1;
      throw error;
    }
  }

  /** Yields after each bounded step. */
  async *#measure(dayMicros: number): AsyncGenerator<void> {
    const { store, properties } = this.#options;
    for await (const account of accountsOf(store, containerKind.service)) {
      const { hourMetrics } = await properties.get('blob', account);
      if (!hourMetrics.enabled || (await this.#isWritten(account, dayMicros))) continue;
      const sums = { data: nothing(), analytics: nothing() };
      const names = prefixRange(containerNamesPrefix(containerKind.service, account));
      for await (const { value, version } of entriesOf(store, names)) {
        const { id, name } = containerKind.decode(value, version);
        const sum = name === logContainer ? sums.analytics : sums.data;
        sum.containers += 1;
        yield* this.#addBlobs(sum, containerPrefix(containerKind.service, account, id));
      }
      await this.#write(account, dayMicros, sums);
      yield;
    }
  }

  async *#addBlobs(sum: Capacity, container: Bytes): AsyncGenerator<void> {
    let range: KeyRange | undefined = prefixRange(container);
    const stored = new StoredBytes();
    while (range !== undefined) {
      range = await this.#addPage(sum, range, stored);
      yield;
    }
  }

  /**
   * Adds the first entries of a range. Returns the rest of the range; undefined when there is none.
   */
  async #addPage(
    sum: Capacity,
    range: KeyRange,
    stored: StoredBytes,
  ): Promise<KeyRange | undefined> {
    let passed = 0;
    let skipped: Bytes | undefined;
    const { entries, more } = await this.#options.store.range(range, {
      limit: passedMax,
      bytesMax: pageBytesMax,
      filter({ key }) {
        if (passed >= passedMax) return 'stop';
        passed += 1;
        if (counted.has(kindOfKey(key))) return 'take';
        skipped = Buffer.from(key);
        return 'skip';
      },
    });
    for (const entry of entries) {
      if (kindOfKey(entry.key) === blobKind.base) sum.objects += 1;
      sum.bytes += stored.of(entry);
    }
    if (!more) return undefined;
    const end = later(entries.at(-1)?.key, skipped);
    return end === undefined ? undefined : { ...range, start: keyAfter(end) };
  }

  async #isWritten(account: string, dayMicros: number): Promise<boolean> {
    const { store, tables } = this.#options;
    const present = await tables.systemTables(account);
    const table = present.find(({ name }) => name === capacityTableName);
    if (table === undefined) return false;
    const key = rowKeyOf(table.prefix, dayMicros, capacityRows.data);
    return (await store.get(key)) !== undefined;
  }

  async #write(
    account: string,
    dayMicros: number,
    sums: Readonly<Record<keyof typeof capacityRows, Capacity>>,
  ): Promise<void> {
    const { store, tables } = this.#options;
    const table = await tables.openSystemTable(account, capacityTableName);
    const puts = Object.values(capacityRows).map((row) => ({
      key: rowKeyOf(table, dayMicros, row),
      value: bagOf(sums[row]),
    }));
    await store.commit({ checks: [], puts, deletes: [] });
  }
}

/**
 * Sums the bytes of the entries of blobs, which come in the order of keys: the record of a blob,
 * then those of its snapshots and versions, the oldest first. Records that share bytes are
 * neighbours, except for the newest, which may share the bytes of the blob.
 */
class StoredBytes {
  /** The content of the previous record, and that of the blob. */
  #last: Bytes | undefined;
  #current: Bytes | undefined;

  of({ key, value, version }: Entry): number {
    const kind = kindOfKey(key);
    switch (kind) {
      case blobKind.base: {
        const record = decodeBlobRecord(value, version);
        this.#current = record.content?.id;
        return this.#ofRecord(record, undefined);
      }
      case blobKind.version:
        return this.#ofRecord(decodeBlobRecord(value, version), this.#current);
      case blobKind.chunk:
        return sumOf(decodeSegments(value));
      case blobKind.block:
      // The value of a range of pages begins as that of a block does.
      case blobKind.page:
        return decodeBlock(value).bytes;
      default:
        return 0;
    }
  }

  /** The bytes that the record itself names. The other bytes are in chunks and ranges. */
  #ofRecord({ content }: BlobRecord, current: Bytes | undefined): number {
    if (content === undefined) return 0;
    const isKnown = [this.#last, current].some((id) => isSame(id, content.id));
    this.#last = content.id;
    return isKnown ? 0 : sumOf(content.tail);
  }
}

function isSame(known: Bytes | undefined, id: Bytes): boolean {
  return known !== undefined && equalBytes(known, id);
}

function sumOf(segments: readonly Segment[]): number {
  return segments.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** The greater of two keys. */
function later(left: Bytes | undefined, right: Bytes | undefined): Bytes | undefined {
  if (left === undefined || right === undefined) return left ?? right;
  return compareBytes(left, right) > 0 ? left : right;
}

function nothing(): Capacity {
  return { bytes: 0, containers: 0, objects: 0 };
}

function rowKeyOf(table: Bytes, dayMicros: number, row: string): Bytes {
  return appendString(appendString(table, metricsPartitionKey(dayMicros)), row);
}

function bagOf({ bytes, containers, objects }: Capacity): Bytes {
  return propertyBagOf([
    { name: 'Capacity', value: int64(bytes) },
    { name: 'ContainerCount', value: int64(containers) },
    { name: 'ObjectCount', value: int64(objects) },
  ]).bag;
}

function int64(value: number): EdmValue {
  return { type: 'Edm.Int64', value: BigInt(value) };
}
