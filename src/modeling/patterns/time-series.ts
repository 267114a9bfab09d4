import { systemClock, type Clock } from '../../base/clock.js';
import type { AnyDefinition } from '../definition/entity-definition.js';
import type { KindOf, PropertyKind } from '../definition/property.js';
import type { KeyOf, PartNames } from '../definition/shapes.js';
import { Instant } from '../rows/instant.js';
import { DefinitionError, ValueError } from '../rows/model-error.js';
import { checkPeriod, nextPeriod, periodStart, stampOf, type Period } from '../rows/period.js';
import { dateOfTicks, ticksMax, ticksOfMicros } from '../rows/ticks.js';
import type { TableGateway } from '../table/gateway.js';
import type { PartitionQuery } from '../table/query-plan.js';
import { dataSeriesOf, type DataSeries, type SeriesOptions } from './data-series.js';

/** The properties that can say which period an entity covers: in the RowKey, a text or a date. */
export type PeriodNames<D extends AnyDefinition> = {
  [N in PartNames<D['rowKey']> & keyof D['properties']]: KindOf<D['properties'][N]> extends
    'string' | 'instant' | 'dateTime'
    ? N
    : never;
}[PartNames<D['rowKey']> & keyof D['properties']];

/** The options of a time series. All are part of the layout of stored data. */
export interface TimeSeriesOptions<
  V extends number | bigint,
  N extends string,
> extends SeriesOptions<V> {
  /**
   * The last part of the RowKey, which holds the beginning of the entity's period: as a date, or as
   * a text of digits in UTC, such as `20140731` for a day.
   */
  readonly time: N;
  /** The time that one entity covers; its slots divide it evenly. */
  readonly period: Exclude<Period, 'month'>;
  /** The system's when absent. */
  readonly clock?: Clock;
}

/** The key of a time series: that of its entities without the time. */
export type SeriesOwner<D extends AnyDefinition, N extends string> = {
  readonly [K in Exclude<keyof KeyOf<D>, N>]: KeyOf<D>[K];
};

/** The value of one slot. */
export interface TimedValue<V> {
  /** When the slot begins; it ends when the next one begins. */
  readonly at: Instant;
  /** Undefined for a slot that was never written. */
  readonly value: V | undefined;
}

/** Included, and excluded. Whole slots are read: those that overlap the range. */
export interface TimeRange {
  readonly from: Instant;
  readonly to: Instant;
}

/** Slots that one read may return. */
const slotsMax = 100_000;

const timeKinds: ReadonlySet<PropertyKind> = new Set(['string', 'instant', 'dateTime']);

/**
 * A data series that continues from entity to entity: the entity and the slot of a value follow
 * from its time, so that a range such as the last 24 hours is read across the days that it touches.
 */
export class TimeSeries<
  D extends AnyDefinition,
  V extends number | bigint,
  N extends PeriodNames<D>,
> {
  /** The same entities by their keys and slots. */
  readonly series: DataSeries<D, V>;
  readonly #options: TimeSeriesOptions<V, N>;
  readonly #clock: Clock;
  readonly #slotTicks: bigint;

  /**
   * Throws `DefinitionError` when the time is not the last part of the RowKey, or when slots do not
   * divide the period. Sends nothing.
   */
  constructor(definition: D, table: TableGateway, options: TimeSeriesOptions<V, N>) {
    this.series = dataSeriesOf(definition, table, options);
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#slotTicks = slotTicksOf(options);
    checkTime(definition, options.time);
  }

  /** Stores the value of the slot that contains a time: one update (merge), without a read. */
  async set(owner: SeriesOwner<D, N>, at: Instant, value: V): Promise<void> {
    const { key, slot } = this.#placeOf(owner, at.ticks);
    await this.series.set(key, slot, value);
  }

  /**
   * Adds to the slot that contains a time, and counts each call once: one point read and one
   * update, both again after each conflict. Throws as `DataSeries.add`.
   */
  async add(owner: SeriesOwner<D, N>, at: Instant, delta: V): Promise<void> {
    const { key, slot } = this.#placeOf(owner, at.ticks);
    await this.series.add(key, slot, delta);
  }

  /**
   * Every slot that overlaps a range, oldest first, with those that were never written. One range
   * read per 1,000 entities. Throws `ValueError` for a range that is empty or has more than 100,000
   * slots.
   */
  async between(
    owner: SeriesOwner<D, N>,
    { from, to }: TimeRange,
  ): Promise<readonly TimedValue<V>[]> {
    const first = from.ticks - (from.ticks % this.#slotTicks);
    const count = Number((to.ticks - first + this.#slotTicks - 1n) / this.#slotTicks);
    if (from.ticks >= to.ticks) {
      throw new ValueError(`no time is from ${from.toString()} to before ${to.toString()}`);
    }
    return this.#read(owner, first, count);
  }

  /**
   * The last slots up to now, oldest first; the last of them is not over yet. `last(owner, 24)` of
   * a series by the hour is the last 24 hours. Requests as `between`.
   */
  async last(owner: SeriesOwner<D, N>, count: number): Promise<readonly TimedValue<V>[]> {
    const now = ticksOfMicros(this.#clock.nowMicros());
    checkCount(count);
    const first = now - (now % this.#slotTicks) - BigInt(count - 1) * this.#slotTicks;
    if (first < 0n) throw new ValueError(`${count} slots before now begin before the year 1`);
    return this.#read(owner, first, count);
  }

  async #read(
    owner: SeriesOwner<D, N>,
    first: bigint,
    count: number,
  ): Promise<readonly TimedValue<V>[]> {
    checkCount(count);
    const last = first + BigInt(count - 1) * this.#slotTicks;
    const bounds = [this.#placeOf(owner, first).key, this.#placeOf(owner, last).key];
    // With inverted ticks the last entity comes first.
    if (this.#isDescending()) bounds.reverse();
    const query: object = { partition: owner, rowKeyFrom: bounds[0], rowKeyTo: bounds[1] };
    const found = new Map<string, readonly (V | undefined)[]>();
    for await (const { key, values } of this.series.range(query as PartitionQuery<D>)) {
      found.set(this.#nameOf(key), values);
    }
    return Array.from({ length: count }, (_, index) => {
      const ticks = first + BigInt(index) * this.#slotTicks;
      const { key, slot } = this.#placeOf(owner, ticks);
      return { at: Instant.ofTicks(ticks), value: found.get(this.#nameOf(key))?.[slot] };
    });
  }

  #placeOf(
    owner: SeriesOwner<D, N>,
    ticks: bigint,
  ): { readonly key: KeyOf<D>; readonly slot: number } {
    const { period, time } = this.#options;
    const start = periodStart(period, ticks);
    const values: Record<string, unknown> = { ...owner, [time]: this.#timeOf(start) };
    const key = values as KeyOf<D>;
    return { key, slot: Number((ticks - start) / this.#slotTicks) };
  }

  #timeOf(start: bigint): unknown {
    const { period, time } = this.#options;
    const kind = this.series.definition.properties[time]?.model.kind;
    if (kind === 'string') return stampOf(period, start);
    return kind === 'instant' ? Instant.ofTicks(start) : dateOfTicks(start);
  }

  #nameOf(key: KeyOf<D>): string {
    const value = (key as Readonly<Record<string, unknown>>)[this.#options.time];
    if (value instanceof Instant) return value.ticks.toString();
    return value instanceof Date ? value.toISOString() : String(value);
  }

  #isDescending(): boolean {
    const part = this.series.definition.rowKey.parts.at(-1);
    const text = (ticks: bigint): string => part?.format.format(this.#timeOf(ticks)) ?? '';
    return text(0n) > text(ticksMax);
  }
}

function checkCount(count: number): void {
  if (Number.isInteger(count) && count >= 1 && count <= slotsMax) return;
  throw new ValueError(`${count} slots: one read returns 1 to ${slotsMax}`);
}

function slotTicksOf({ period, slots }: { period: Period; slots: number }): bigint {
  checkPeriod(period);
  if (period === 'month') {
    throw new DefinitionError('months differ in length, so slots cannot divide them evenly');
  }
  const span = nextPeriod(period, 0n);
  if (span % BigInt(slots) === 0n) return span / BigInt(slots);
  throw new DefinitionError(`${slots} slots do not divide the period evenly`);
}

function checkTime({ type, properties, partitionKey, rowKey }: AnyDefinition, time: string): void {
  const kind = properties[time]?.model.kind;
  if (kind === undefined || !timeKinds.has(kind)) {
    throw new DefinitionError(`${type}.${time} cannot be a time: it has to be a text or a date`);
  }
  const isLast = rowKey.parts.at(-1)?.property === time && rowKey.texts.at(-1) === '';
  if (isLast && !partitionKey.parts.some(({ property }) => property === time)) return;
  throw new DefinitionError(
    `${type}: only the RowKey of a time series has '${time}', as its last part, so that a range ` +
      'of time is one range of rows',
  );
}

/** The time series of a definition in a table. Sends nothing. */
export function timeSeriesOf<
  D extends AnyDefinition,
  V extends number | bigint,
  const N extends PeriodNames<D>,
>(definition: D, table: TableGateway, options: TimeSeriesOptions<V, N>): TimeSeries<D, V, N> {
  return new TimeSeries(definition, table, options);
}
