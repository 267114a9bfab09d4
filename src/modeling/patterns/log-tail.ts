import { systemClock, type Clock } from '../../base/clock.js';
import { systemRandomness, type Randomness } from '../../base/randomness.js';
import type { AnyDefinition } from '../definition/entity-definition.js';
import type { KindOf, ValueOf } from '../definition/property.js';
import type { CreateOf, PartitionOf, ReadOf, RowKeyPrefixOf } from '../definition/shapes.js';
import type { Stored } from '../definition/stored-entity.js';
import { Instant } from '../rows/instant.js';
import { DefinitionError } from '../rows/model-error.js';
import { dateOfTicks, ticksOfMicros, ticksPerMillisecond } from '../rows/ticks.js';
import { Entities, type EntitiesOptions } from '../table/entities.js';
import { EntityExistsError } from '../table/errors.js';
import type { TableGateway } from '../table/gateway.js';
import type { Query } from '../table/query.js';
import type { RowConditions } from '../table/query-plan.js';

type NamesOf<D extends AnyDefinition, K> = {
  [N in keyof D['properties'] & string]: KindOf<D['properties'][N]> extends K ? N : never;
}[keyof D['properties'] & string];

/** The properties that can be the time of an entry. */
export type TimeNames<D extends AnyDefinition> = NamesOf<D, 'instant' | 'dateTime'>;
/** The properties that can distinguish entries of the same time. */
export type IdNames<D extends AnyDefinition> = NamesOf<D, 'string'>;

/** The options of a log tail. */
export interface LogTailOptions<T, I> extends EntitiesOptions {
  /**
   * The property of the entry's time, the first part of its RowKey: `p.at.descending()` for newest
   * first, `p.at.ascending()` for oldest first.
   */
  readonly time: T;
  /**
   * A text after the time in the RowKey, which distinguishes entries of the same 100 ns. Without
   * it, an entry whose time is taken gets the next free time.
   */
  readonly id?: I;
  readonly clock?: Clock;
}

/** The entry to append; an absent time or id is generated. */
export type LogTailEntry<D extends AnyDefinition, T extends string, I extends string> = Omit<
  CreateOf<D>,
  T | I
> &
  Partial<Pick<CreateOf<D>, (T | I) & keyof CreateOf<D>>>;

/** A time range of a log. */
export interface LogTailRange<V> {
  /** Included. From the beginning when absent. */
  readonly from?: V;
  /** Excluded. To the end when absent. */
  readonly to?: V;
}

const idBytes = 8;
const takenMax = 100;

/**
 * Entries in the order of their time, so that a read returns the latest first: their RowKeys begin
 * with 19 digits of ticks, inverted (`DateTime.MaxValue.Ticks - ticks`) for newest first. The
 * entries of one writer are never out of order, whatever its clock does.
 */
export class LogTail<
  D extends AnyDefinition,
  T extends TimeNames<D>,
  I extends IdNames<D> = never,
> {
  readonly entities: Entities<D>;
  /** Whether entries are in the order newest first. */
  readonly isNewestFirst: boolean;
  readonly #options: LogTailOptions<T, I>;
  readonly #clock: Clock;
  readonly #randomness: Randomness;
  /** The resolution of the time, in ticks. */
  readonly #step: bigint;
  #lastTicks = 0n;

  /** Sends nothing. Throws `DefinitionError` when the RowKey does not begin with the time. */
  constructor(definition: D, table: TableGateway, options: LogTailOptions<T, I>) {
    const { clock = systemClock, randomness = systemRandomness } = options;
    this.entities = new Entities(definition, table, options);
    this.#options = options;
    this.#clock = clock;
    this.#randomness = randomness;
    this.#step =
      definition.properties[options.time]?.model.kind === 'instant' ? 1n : ticksPerMillisecond;
    this.isNewestFirst = this.#isDescending();
    checkId(definition, options.id);
  }

  /**
   * One insert. The entry's time is now, and later than that of each entry appended by this object.
   * With an id, a random one distinguishes entries of the same time; without, an entry whose time
   * is taken is retried with the next time, for one more insert and a point read. Throws
   * `EntityExistsError` when both were given and the entry exists: it was appended before.
   */
  async append(entry: LogTailEntry<D, T, I>): Promise<Stored<ReadOf<D>>> {
    const { time, id } = this.#options;
    const given: Readonly<Record<string, unknown>> = entry;
    for (let taken = 0; ; taken++) {
      const made: Record<string, unknown> = { ...given };
      made[time] ??= this.#valueOf(this.#nextTicks());
      if (id !== undefined) made[id] ??= this.#newId();
      try {
        return await this.entities.insert(made as CreateOf<D>);
      } catch (error) {
        const isGiven = given[time] !== undefined && (id === undefined || given[id] !== undefined);
        if (!(error instanceof EntityExistsError) || isGiven || taken >= takenMax) throw error;
      }
    }
  }

  /**
   * The latest entries, newest first. One range read, and further ones when the service ends a page
   * early or `count` is beyond 1,000. Throws `DefinitionError` for an oldest-first log, whose end
   * only a read of all entries would find.
   */
  async latest(partition: PartitionOf<D>, count: number): Promise<Stored<ReadOf<D>>[]> {
    const { type } = this.entities.definition;
    if (this.isNewestFirst) return this.entities.query({ partition }).first(count);
    throw new DefinitionError(`${type} is ordered with ascending(); latest() needs descending()`);
  }

  /** The earliest entries, oldest first, of an oldest-first log. As `latest`. */
  async earliest(partition: PartitionOf<D>, count: number): Promise<Stored<ReadOf<D>>[]> {
    const { type } = this.entities.definition;
    if (!this.isNewestFirst) return this.entities.query({ partition }).first(count);
    throw new DefinitionError(`${type} is ordered with descending(); earliest() needs ascending()`);
  }

  /**
   * The entries of a time range, in the order of the log: a range read per 1,000. Sends nothing
   * yet.
   */
  between(
    partition: PartitionOf<D>,
    range: LogTailRange<ValueOf<D['properties'][T]>>,
    conditions: RowConditions<D> = {},
  ): Query<Stored<ReadOf<D>>> {
    const bound = (name: string, ticks: bigint | undefined) =>
      ticks === undefined ? {} : { [name]: this.#leading(ticks) };
    const from = ticksOf(range.from);
    const to = ticksOf(range.to);
    // With inverted ticks, the time just before the end comes first.
    const beforeEnd = to === undefined ? undefined : roundUp(to, this.#step) - this.#step;
    const bounds = this.isNewestFirst
      ? { ...bound('rowKeyFrom', beforeEnd), ...bound('rowKeyTo', from) }
      : { ...bound('rowKeyFrom', from), ...bound('rowKeyBefore', to) };
    return this.entities.query({ partition, ...bounds, ...conditions });
  }

  #leading(ticks: bigint): RowKeyPrefixOf<D> {
    return { [this.#options.time]: this.#valueOf(ticks) } as RowKeyPrefixOf<D>;
  }

  /** A `Date` or an `Instant`, by the kind of the property. */
  #valueOf(ticks: bigint): Date | Instant {
    return this.#step === 1n ? Instant.ofTicks(ticks) : dateOfTicks(ticks);
  }

  #nextTicks(): bigint {
    const now = ticksOfMicros(this.#clock.nowMicros());
    const later = roundUp(this.#lastTicks + 1n, this.#step);
    this.#lastTicks = now > later ? now - (now % this.#step) : later;
    return this.#lastTicks;
  }

  #newId(): string {
    return Buffer.from(this.#randomness.bytes(idBytes)).toString('hex');
  }

  #isDescending(): boolean {
    const { type, rowKey } = this.entities.definition;
    const { time } = this.#options;
    const [first] = rowKey.parts;
    if (first?.property !== time) {
      throw new DefinitionError(`${type}: the RowKey of a log begins with '${time}'`);
    }
    const text = (iso: string) => first.format.format(this.#valueOf(Instant.parse(iso).ticks));
    return text('2001-01-01') > text('2002-01-01');
  }
}

function checkId({ type, rowKey }: AnyDefinition, id: string | undefined): void {
  if (id === undefined || rowKey.parts.some(({ property }) => property === id)) return;
  throw new DefinitionError(`${type}: '${id}' has to be in the RowKey to tell entries apart`);
}

function roundUp(ticks: bigint, step: bigint): bigint {
  return ((ticks + step - 1n) / step) * step;
}

function ticksOf(value: unknown): bigint | undefined {
  if (value instanceof Instant) return value.ticks;
  return value instanceof Date ? Instant.ofDate(value).ticks : undefined;
}

/** A log of a definition's entities. Sends nothing. */
export function logTailOf<
  D extends AnyDefinition,
  T extends TimeNames<D>,
  I extends IdNames<D> = never,
>(definition: D, table: TableGateway, options: LogTailOptions<T, I>): LogTail<D, T, I> {
  return new LogTail(definition, table, options);
}
