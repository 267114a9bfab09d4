import { own } from '../../../base/own.js';
import { codecOf } from '../../definition/codec.js';
import {
  keyNamesOf,
  storedNameOf,
  type AnyDefinition,
} from '../../definition/entity-definition.js';
import type { KeyOf, PartitionOf, ReadOf } from '../../definition/shapes.js';
import type { JsonValue } from '../../definition/structured-types.js';
import { DefinitionError, ValueError } from '../../rows/model-error.js';
import type { Row, RowKey, RowProperties, StoredRow, WireValue } from '../../rows/row.js';
import { sameValue } from '../../rows/same-value.js';
import { absentEntityError } from '../../table/refusals.js';
import type { RowWrite } from '../../table/gateway.js';
import { handle } from '../../worker/handler.js';
import { defineMessage } from '../../worker/message-type.js';
import type { PayloadCodec } from '../../worker/payload.js';
import type { DerivationDeclaration } from '../derived-data/declaration.js';
import type { Derivation, RowChange } from '../derived-data/derivation.js';
import type { DerivingOutbox } from '../derived-data/deriving-table.js';
import type { TableCounter } from '../derived-data/table-counters.js';
import { EventView } from './applied-events.js';
import { MarkUpkeep } from './mark-upkeep.js';
import { checkMeasures, type Numbers } from './measures.js';
import { added, deltasOf, type Delta } from './summary-delta.js';
import { checkedCounts } from './view-audit.js';
import { countedBy, type PlacedViewOptions } from './view-options.js';

/** Counts and sums that a table keeps of its entities. */
export interface CounterOptions<S extends AnyDefinition, V extends AnyDefinition> extends Omit<
  PlacedViewOptions<S, V>,
  'table' | 'attemptsMax' | 'randomness' | 'timers' | 'keyOf'
> {
  /**
   * The summary that counts an entity; undefined for none. Must be pure. When absent, that of the
   * entity's partition: its keys have values of the PartitionKey, under the same names.
   */
  readonly keyOf?: (entity: ReadOf<S>) => KeyOf<V> | undefined;
  /** When there is no summary yet: a new one, the default, or `EntityNotFoundError`. */
  readonly ifAbsent?: 'insert' | 'refuse';
}

/** `keyOf`, where the PartitionKey of an entity does not have all values that a summary's has. */
type KeyOfWhereNeeded<S extends AnyDefinition, V extends AnyDefinition> =
  PartitionOf<S> extends KeyOf<V> ? unknown : Required<Pick<CounterOptions<S, V>, 'keyOf'>>;

type PlacedCounter<S extends AnyDefinition, V extends AnyDefinition> = CounterOptions<S, V> &
  Pick<PlacedViewOptions<S, V>, 'keyOf'>;

/**
 * Counts and sums of entities in a summary, which the table of the entities keeps however one is
 * written. A summary in the entity's partition changes in the same transaction; one elsewhere when
 * a worker has handled the message, once for each. The measures are the table's: a write of a
 * summary that would change them throws `ValueError`, and an upsert leaves them. Throws
 * `DefinitionError` for measures that the view cannot store. In a `viewTable` summaries are written
 * by the worker alone: what else writes them there has to leave the measures.
 */
export function counter<S extends AnyDefinition, V extends AnyDefinition>(
  given: CounterOptions<S, V> & KeyOfWhereNeeded<S, V>,
): DerivationDeclaration {
  checkMeasures(given.view, given.measures);
  const options = { ...given, keyOf: given.keyOf ?? summaryOfPartition(given.source, given.view) };
  return {
    bind({ table, outbox, clock }) {
      const { source, view, viewTable = table } = options;
      const message = messageOf(source, view);
      const events = new EventView(view, viewTable);
      const codec = codecOf(view);
      const upkeep = new MarkUpkeep({ table: viewTable, outbox: table, clock });
      const handler = handle(message, async ({ key, numbers, from }, { id }) => {
        const delta = { key: codec.parseKey(key), numbers };
        await events.apply(id, delta.key, (current) => added(current, delta), { outbox: from });
        await upkeep.applied(key.partitionKey, id);
      });
      return {
        handlers: [handler],
        derivation: new CounterDerivation(options, outbox),
        check: (check) => checkedCounts({ ...options, table }, check),
      };
    },
  };
}

/** Gives the key of the summary of an entity's partition. Throws `DefinitionError`. */
function summaryOfPartition<S extends AnyDefinition, V extends AnyDefinition>(source: S, view: V) {
  const names = [...keyNamesOf(view)];
  const known = new Set(source.partitionKey.parts.map(({ property }) => property));
  const missing = names.find((name) => !known.has(name));
  if (missing !== undefined) {
    throw new DefinitionError(
      `${view.type}: the PartitionKey of ${source.type} has no '${missing}': keyOf says what counts it`,
    );
  }
  return (entity: ReadOf<S>): KeyOf<V> => {
    const values: Readonly<Record<string, unknown>> = entity;
    return Object.fromEntries(names.map((name) => [name, values[name]])) as KeyOf<V>;
  };
}

class CounterDerivation<S extends AnyDefinition, V extends AnyDefinition> implements Derivation {
  readonly counter: TableCounter | undefined;
  readonly #options: PlacedCounter<S, V>;
  readonly #outbox: DerivingOutbox | undefined;
  /** The stored names of the measures. */
  readonly #names: readonly string[];

  constructor(options: PlacedCounter<S, V>, outbox: DerivingOutbox | undefined) {
    this.#options = options;
    this.#outbox = outbox;
    const { properties } = options.view;
    this.#names = Object.keys(options.measures).flatMap((name) => {
      const property = own(properties, name);
      return property === undefined ? [] : [storedNameOf(name, property)];
    });
    this.counter = options.viewTable === undefined ? counterOf(options) : undefined;
  }

  concerns(key: RowKey): boolean {
    const row = { ...key, properties: {} };
    return codecOf(this.#options.source).matches(row) || this.#isView(row);
  }

  isSource(row: Row): boolean {
    return codecOf(this.#options.source).matches(row);
  }

  guarded(write: RowWrite, current: StoredRow | undefined): RowWrite {
    if (write.kind === 'delete' || !this.#isView(write.row)) return write;
    const { row } = write;
    const isMerge = write.kind === 'merge' || write.kind === 'upsert-merge';
    const kept: Record<string, WireValue> = {};
    for (const name of this.#names) {
      const [given, stored] = [own(row.properties, name), own(current?.properties ?? {}, name)];
      const isUpsert = write.kind === 'upsert-merge' || write.kind === 'upsert-replace';
      if (given !== undefined && !isKept(given, stored) && !(isUpsert && current !== undefined)) {
        throw new ValueError(
          `${this.#options.view.type}: '${name}' is counted by the table, which does it by itself: ` +
            'leave it as it was read',
        );
      }
      // A merge keeps what it does not name. Named here, an encrypted measure would become plain.
      if (stored !== undefined && !(isMerge && given === undefined)) kept[name] = stored;
    }
    const properties: RowProperties = { ...row.properties, ...kept };
    return { ...write, row: { ...row, properties } };
  }

  changes(changes: readonly RowChange[]) {
    const { view, ifAbsent } = this.#options;
    const codec = codecOf(view);
    return this.#deltas(changes).flatMap(({ item, from, delta }) => {
      const key = codec.key(delta.key);
      if (!this.#isNear(key, from)) return [];
      const change = (current: StoredRow | undefined): Row => {
        if (current === undefined && ifAbsent === 'refuse') {
          throw absentEntityError(view.type, key);
        }
        return codec.toRow(added(current && codec.fromRow(current), delta));
      };
      return [{ item, key, change }];
    });
  }

  plan() {
    const { source, view } = this.#options;
    return {
      messages: (changes: readonly RowChange[]) =>
        Promise.all(
          this.#deltas(changes).flatMap(({ from, delta }) => {
            const key = codecOf(view).key(delta.key);
            if (this.#isNear(key, from)) return [];
            if (this.#outbox === undefined) {
              throw new ValueError(
                `${view.type}: the summary in '${key.partitionKey}' is in another partition or ` +
                  `table than the ${source.type} in '${from.partitionKey}': it needs an outbox`,
              );
            }
            const payload = { key, numbers: delta.numbers, from: from.partitionKey };
            return [this.#outbox.message(from.partitionKey, messageOf(source, view), payload)];
          }),
        ),
    };
  }

  /** Whether a row is a summary that this table keeps. */
  #isView(row: Row): boolean {
    const { view, viewTable } = this.#options;
    return viewTable === undefined && codecOf(view).matches(row);
  }

  /** Whether a summary changes in the transaction of an entity. */
  #isNear(summary: RowKey, entity: RowKey): boolean {
    const { viewTable } = this.#options;
    return viewTable === undefined && summary.partitionKey === entity.partitionKey;
  }

  #deltas(changes: readonly RowChange[]) {
    const codec = codecOf(this.#options.source);
    const entity = (row: StoredRow | undefined) => row && codec.fromRow(row);
    return changes.flatMap(({ item, key: from, before, after }) =>
      deltasOf(this.#options, entity(before), entity(after)).map((delta: Delta<V>) => ({
        item,
        from,
        delta,
      })),
    );
  }
}

function counterOf<S extends AnyDefinition, V extends AnyDefinition>(
  options: PlacedCounter<S, V>,
): TableCounter {
  const { source, view, measures, keyOf, ifAbsent } = options;
  const { counts } = countedBy(options);
  return {
    source: source.type,
    view: view.type,
    measures: Object.keys(measures),
    needsSummary: ifAbsent === 'refuse',
    summaryOf: (entity) => {
      const counted = entity as ReadOf<S>;
      const summary = counts(counted) ? keyOf(counted) : undefined;
      return summary === undefined ? undefined : codecOf(view).key(summary);
    },
  };
}

/** Whether a write leaves a measure as it is; a new summary begins with nothing. */
function isKept(given: WireValue, stored: WireValue | undefined): boolean {
  return stored === undefined ? Number(given.value) === 0 : sameValue(given, stored);
}

interface Counted {
  readonly key: RowKey;
  readonly numbers: Numbers;
  /** The PartitionKey of the entity, whose outbox has the message. */
  readonly from: string;
}

function messageOf(source: AnyDefinition, view: AnyDefinition) {
  return defineMessage<Counted, Counted>(`${source.type}.counted-in.${view.type}`, {
    payload: countedPayload,
  });
}

/**
 * `{ key: [PartitionKey, RowKey], from: PartitionKey, numbers: { name: number | text } }`; texts
 * are 64-bit integers.
 */
const countedPayload: PayloadCodec<Counted, Counted> = {
  encode: ({ key, from, numbers }) => ({
    key: [key.partitionKey, key.rowKey],
    from,
    numbers: Object.fromEntries(
      Object.entries(numbers).map(([name, value]) => [
        name,
        typeof value === 'bigint' ? String(value) : value,
      ]),
    ),
  }),
  decode: (payload) => {
    const { key, from, numbers } = Object(payload) as Readonly<Record<string, JsonValue>>;
    const [partitionKey, rowKey] = Array.isArray(key) ? (key as readonly JsonValue[]) : [];
    if (
      typeof partitionKey !== 'string' ||
      typeof rowKey !== 'string' ||
      typeof from !== 'string'
    ) {
      throw new ValueError('a count has the key of its summary, and the partition of its entity');
    }
    const amounts = Object.entries(Object(numbers) as Readonly<Record<string, JsonValue>>);
    return {
      key: { partitionKey, rowKey },
      from,
      numbers: Object.fromEntries(amounts.map(([name, value]) => [name, amountOf(name, value)])),
    };
  },
};

function amountOf(name: string, value: JsonValue): number | bigint {
  if (typeof value === 'number') return value;
  if (typeof value === 'string' && /^-?[0-9]+$/.test(value)) return BigInt(value);
  throw new ValueError(`the amount of '${name}' is no number`);
}
