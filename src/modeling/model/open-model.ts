import { own } from '../../base/own.js';
import { systemClock, type Clock } from '../../base/clock.js';
import { systemRandomness, type Randomness } from '../../base/randomness.js';
import { holdingTimers, type Timers } from '../../base/async/timers.js';
import type { AnyDefinition } from '../definition/entity-definition.js';
import { reservedPartitionKeys } from '../definition/reserved-keys.js';
import type { Derivation } from '../patterns/derived-data/derivation.js';
import type {
  BoundDerivation,
  DerivationDeclaration,
  DerivedDrift,
} from '../patterns/derived-data/declaration.js';
import { DerivingTable, type DerivingOutbox } from '../patterns/derived-data/deriving-table.js';
import type { ListBlobs } from '../patterns/index-entities/list-blobs.js';
import type { AnyIndexes } from '../patterns/indexes/index-declaration.js';
import type { Drift } from '../patterns/indexes/index-drift.js';
import { readScanCursor, writeScanCursor } from '../patterns/indexes/index-scan.js';
import {
  IndexedEntities,
  IndexUpkeep,
  type IndexedPlaces,
} from '../patterns/indexes/indexed-entities.js';
import type { IndexedDefinition } from '../patterns/indexes/with-indexes.js';
import { toHandlers } from '../patterns/transactional-outbox/dispatch.js';
import type { MessageSink } from '../patterns/transactional-outbox/message-sink.js';
import { Outbox } from '../patterns/transactional-outbox/outbox.js';
import { tableRegistryOf, type OutboxRegistry } from '../patterns/transactional-outbox/registry.js';
import {
  hintHandlerOf,
  Relay,
  type RelayEvent,
  type SweepReport,
} from '../patterns/transactional-outbox/relay.js';
import { DefinitionError, ValueError } from '../rows/model-error.js';
import { mixedTableOf, type SharedPartition } from '../patterns/inheritance.js';
import type { ReadOf } from '../definition/shapes.js';
import type { Stored } from '../definition/stored-entity.js';
import { Entities } from '../table/entities.js';
import type { TableGateway } from '../table/gateway.js';
import { transaction, type Transaction, type TransactionOptions } from '../table/transaction.js';
import type { QueueSource } from '../worker/deliverer.js';
import type { MessageHandler } from '../worker/handler.js';
import { QueueWorker } from '../worker/worker.js';

type Indexed = IndexedDefinition<AnyDefinition, AnyIndexes<AnyDefinition>>;

/** Definitions, with indexes or without, by the names that the program gives them. */
export type ModelEntities = Readonly<
  Record<string, AnyDefinition | { readonly entity: AnyDefinition }>
>;

/** The entities of a model, by name. */
export type OpenedEntities<E extends ModelEntities> = {
  readonly [N in keyof E]: E[N] extends IndexedDefinition<infer D, infer I>
    ? IndexedEntities<D, I>
    : E[N] extends AnyDefinition
      ? Entities<E[N]>
      : never;
};

/** The definition of an entity of a model. */
type DefinitionOf<Given> =
  Given extends IndexedDefinition<infer D, infer _Indexes>
    ? D
    : Given extends AnyDefinition
      ? Given
      : never;

/** The values that make the PartitionKey of each of these entities. */
export type ModelPartition<E extends ModelEntities, N extends keyof E> = SharedPartition<
  readonly DefinitionOf<E[N]>[]
>;

/** Entities of a partition, by the names of their types in the model. */
export type ReadEntities<E extends ModelEntities, N extends keyof E> = {
  readonly [M in N]: readonly Stored<ReadOf<DefinitionOf<E[M]>>>[];
};

/** A table, its entities, and the data that it derives from them. */
export interface ModelOptions<E extends ModelEntities> {
  /** The table of the entities, with encryption, large values or a shard map where it has them. */
  readonly table: TableGateway;
  readonly entities: E;
  /** The tables of indexes in other tables, by the names of the entities and of the indexes. */
  readonly tables?: { readonly [N in keyof E]?: Readonly<Record<string, TableGateway>> };
  /** The blobs of index entities in blobs, likewise. */
  readonly blobs?: { readonly [N in keyof E]?: Readonly<Record<string, ListBlobs>> };
  /**
   * The derived data of the table besides indexes: `counter`, `copies`, `announcement`,
   * `changeFeed`.
   */
  readonly keeps?: readonly DerivationDeclaration[];
  /** Handle the messages of announcements; those that the change feed takes need no handler. */
  readonly handlers?: readonly MessageHandler[];
  /**
   * A queue, and its poison queue, that notifies the workers of all processes at once. Without it,
   * a process acts at once on its own messages, and on the others every `sweepMs`.
   */
  readonly queue?: QueueSource;
  /** The partitions with messages. In the table itself when absent. */
  readonly registry?: OutboxRegistry;
  /** Milliseconds between two sweeps of `run`; 60,000 when absent. */
  readonly sweepMs?: number;
  /** Called for each message that was acted on, or could not be. */
  readonly observer?: (event: RelayEvent) => void;
  /** The system's when absent. */
  readonly clock?: Clock;
  /** The system's when absent. */
  readonly randomness?: Randomness;
  /** The system's when absent. */
  readonly timers?: Timers;
}

/** A difference between entities and the data derived from them. */
export type ModelDrift =
  { readonly entity: string; readonly index: Drift } | { readonly derived: DerivedDrift };

/** How a model is compared, or rebuilt. */
export interface ModelRebuildOptions {
  /** The cursor of the last page of an earlier run. */
  readonly cursor?: string;
  /** Maximum rows of a page, 1 to 1000. 200 for indexes, 1000 for the rest when absent. */
  readonly pageRows?: number;
  /** Reports differences without mending them. */
  readonly dryRun?: boolean;
}

/** The results of a page of a rebuild. */
export interface ModelPage {
  /** Comparisons, or entities that were counted. */
  readonly checked: number;
  /** Differences; those that remain where they are mended. */
  readonly drifts: readonly ModelDrift[];
  readonly repaired: number;
  /** Resumes after this page, also in another process. Absent: everything was compared. */
  readonly cursor?: string;
}

type Part = (cursor: string | undefined) => AsyncIterable<ModelPage>;

/**
 * A table whose entities, indexes, counters, copies, announcements and feed are declared once and
 * apply to every write: through `entities`, `transaction`, or anything else that takes `table`.
 *
 * Rows in the partition of a change are written in its transaction. Everything else follows when
 * some process acts on the messages: `run` does until it is stopped, `drain` once.
 */
export class Model<E extends ModelEntities> {
  readonly entities: OpenedEntities<E>;
  /** The table with everything that is declared. */
  readonly table: TableGateway;
  readonly outbox: Outbox;
  readonly relay: Relay;
  /** Undefined without a queue. */
  readonly worker: QueueWorker | undefined;
  readonly #indexed: ReadonlyMap<string, IndexedEntities<AnyDefinition, AnyIndexes<AnyDefinition>>>;
  readonly #bound: readonly BoundDerivation[];
  readonly #options: ModelOptions<E>;
  readonly #stop = new AbortController();
  #isRunning = false;
  readonly #runs = new Set<Promise<void>>();

  constructor(options: ModelOptions<E>) {
    const { table: base, queue, clock = systemClock } = options;
    refuseKeeping(base);
    const { randomness = systemRandomness, timers = holdingTimers } = options;
    const tools = { randomness, timers };
    this.#options = options;
    const registry =
      options.registry ??
      tableRegistryOf(base, base.table, {
        partitionPrefix: reservedPartitionKeys.outboxRegistry,
      });
    this.outbox = new Outbox({
      table: base,
      registry,
      clock,
      randomness,
      ...(queue === undefined ? {} : { hints: queue.queue }),
    });
    const outbox = this.#promptly(this.outbox);
    const upkeeps = this.#upkeeps(outbox, tools);
    const indexes = upkeeps.map(([, { derivation }]) => derivation);
    const others = (options.keeps ?? []).map((): Derivation[] => []);
    this.#bound = (options.keeps ?? []).map((declared, at) =>
      declared.bind({
        table: new DerivingTable(base, others[at] ?? [], { ...tools, outbox }),
        outbox,
        clock,
      }),
    );
    const kept = this.#bound.map(({ derivation }) => derivation);
    others.forEach((each, at) => each.push(...indexes, ...kept.filter((_, place) => place !== at)));
    this.table = new DerivingTable(base, [...kept, ...indexes], { ...tools, outbox });
    this.#indexed = new Map(
      upkeeps.map(([name, upkeep]) => [name, new IndexedEntities(upkeep, this.table, tools)]),
    );
    const entities = Object.entries(options.entities).map(([name, definition]) => [
      name,
      this.#indexed.get(name) ?? new Entities(definition as AnyDefinition, this.table, tools),
    ]);
    this.entities = Object.fromEntries(entities) as OpenedEntities<E>;
    const handlers = [
      ...[...this.#indexed.values()].map(({ handler }) => handler),
      ...this.#bound.flatMap((each) => each.handlers),
      ...(options.handlers ?? []),
    ];
    refuseTwice(handlers);
    const sink = oneSink(this.#bound);
    this.relay = new Relay({
      table: base,
      registry,
      dispatch: toHandlers(handlers),
      timers,
      ...(sink === undefined ? {} : { sink }),
      ...(options.observer === undefined ? {} : { observer: options.observer }),
    });
    this.worker =
      queue === undefined
        ? undefined
        : new QueueWorker({
            sources: [queue],
            handlers: [hintHandlerOf([this.relay])],
            clock,
            ...tools,
          });
  }

  /**
   * A transaction of the table: each method adds a change, `run` sends all or nothing. One that is
   * made in a change takes the scope of that one.
   */
  transaction(options: Pick<TransactionOptions, 'within'> = {}): Transaction {
    const { randomness, timers } = this.#options;
    return transaction(this.table, {
      ...options,
      ...(randomness === undefined ? {} : { randomness }),
      ...(timers === undefined ? {} : { timers }),
    });
  }

  /**
   * All entities of a partition, of these types, in lists by their names, each in RowKey order. One
   * range read for each 1,000 rows of the partition. Throws `ModelError` when there are more than
   * `max` (1,000 when absent), after it has read that many, and `ValueError` when the types are in
   * different partitions.
   */
  async read<const N extends keyof E & string>(
    names: readonly N[],
    partition: ModelPartition<E, N>,
    { max = readMax }: { readonly max?: number } = {},
  ): Promise<ReadEntities<E, N>> {
    const definitions = names.map((name) => definitionOf(this.#options.entities, name));
    const where = Object.fromEntries(definitions.map(({ type }) => [type, 'all' as const]));
    const found = await mixedTableOf(this.table, ...definitions)
      .query({ partition: partition as SharedPartition<readonly AnyDefinition[]>, where })
      .toArray({ max });
    const lists = names.map((name, place) => [
      name,
      found.filter(({ type }) => type === definitions[place]?.type).map(({ entity }) => entity),
    ]);
    return Object.fromEntries(lists) as ReadEntities<E, N>;
  }

  /**
   * Acts on all waiting messages, including those that its own work stores, and resolves when none
   * is left or the rest cannot be processed now. The report is that of the last sweep, which tells
   * why.
   */
  async drain(): Promise<SweepReport> {
    for (;;) {
      const report = await this.relay.sweep();
      if (report.dispatched === 0) return report;
    }
  }

  /**
   * Acts on messages until the signal is aborted or the model is closed: on those of its own writes
   * at once, on those of other processes by the queue, and every `sweepMs` on the remaining ones.
   * Rejects when the table or the queue refuses it for good.
   */
  async run({ signal }: { readonly signal?: AbortSignal } = {}): Promise<void> {
    const failed = new AbortController();
    const stops = [this.#stop.signal, failed.signal, ...(signal === undefined ? [] : [signal])];
    const stop = AbortSignal.any(stops);
    const { sweepMs = 60_000 } = this.#options;
    const work = [
      this.relay.run({ signal: stop, intervalMs: sweepMs }),
      ...(this.worker === undefined ? [] : [this.worker.run({ signal: stop })]),
    ].map(async (each) => {
      try {
        await each;
      } catch (error) {
        failed.abort(error);
        throw error;
      }
    });
    const run = Promise.allSettled(work).then(() => undefined);
    this.#runs.add(run);
    this.#isRunning = true;
    try {
      await run;
    } finally {
      this.#runs.delete(run);
      this.#isRunning = this.#runs.size > 0;
    }
    await Promise.all(work);
  }

  /**
   * Stops `run` and waits for its end. Afterwards the table can still be used, but `run` cannot.
   */
  async close(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#runs);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /**
   * Compares everything derived with the entities, without changing anything. Differences that
   * waiting messages will mend are reported as well. Sends the requests of `verify` of each index;
   * for counters, range reads of the table; for copies, these and a point read for each copy.
   */
  async *verify(): AsyncGenerator<ModelDrift, void, undefined> {
    for await (const { drifts } of this.rebuild({ dryRun: true })) yield* drifts;
  }

  /**
   * As `verify`, and mends the differences while writers continue; with `dryRun` it only reports
   * them, page by page. Any page can be the last of a process: another resumes with its cursor.
   * Counters are mended at the end of their rows, when no message waits and the summary has not
   * changed meanwhile; otherwise they are reported, and another run mends them. Sends the requests
   * of `rebuild` of each index; up to five for each copy that is mended, two for each counter, and
   * those of `drain`. Throws `ValueError` for a cursor that is none.
   */
  async *rebuild({ cursor, pageRows, dryRun = false }: ModelRebuildOptions = {}): AsyncGenerator<
    ModelPage,
    void,
    undefined
  > {
    const parts = this.#parts(!dryRun, pageRows);
    const from = readScanCursor(cursor);
    for (let at = from.source; at < parts.length; at += 1) {
      const inside = at === from.source ? from.cursor : undefined;
      for await (const page of parts[at]?.(inside) ?? []) {
        const isOver = page.cursor === undefined;
        const next = { source: isOver ? at + 1 : at, cursor: page.cursor };
        const { cursor: _, ...found } = page;
        yield next.source < parts.length ? { ...found, cursor: writeScanCursor(next) } : found;
      }
    }
  }

  /** The comparisons, one after another, each with its own cursor. */
  #parts(repairs: boolean, pageRows: number | undefined): readonly Part[] {
    const rows = pageRows === undefined ? {} : { pageRows };
    const indexes = [...this.#indexed].map(
      ([entity, indexed]): Part =>
        async function* (cursor) {
          const from = cursor === undefined ? rows : { ...rows, cursor };
          for await (const page of repairs ? indexed.rebuild(from) : indexed.verify(from)) {
            yield { ...page, drifts: page.drifts.map((index) => ({ entity, index })) };
          }
        },
    );
    const drained = async (): Promise<boolean> => (await this.drain()).unfinished.length === 0;
    const derived = this.#bound.flatMap(({ check }): readonly Part[] => {
      if (check === undefined) return [];
      return [
        async function* (cursor) {
          for await (const page of check({ repairs, cursor, pageRows, drained })) {
            yield { ...page, drifts: page.drifts.map((each) => ({ derived: each })) };
          }
        },
      ];
    });
    return [...indexes, ...derived];
  }

  /** Without a queue, a running model acts on its own messages as soon as they are stored. */
  #promptly(outbox: Outbox): DerivingOutbox {
    return {
      table: outbox.table,
      message: (partitionKey, message, payload, options) =>
        outbox.message(partitionKey, message, payload, options),
      transact: async (writes, messages) => {
        const results = await outbox.transact(writes, messages);
        const [first] = messages;
        if (this.#isRunning && this.worker === undefined && first !== undefined) {
          const { partitionKey } = first.write.row;
          const relayed = this.relay.partition(partitionKey, { signal: this.#stop.signal });
          const run: Promise<void> = relayed
            // The observer is told of failures, and a later sweep retries their messages.
            .then(
              () => undefined,
              () => undefined,
            )
            .finally(() => this.#runs.delete(run));
          this.#runs.add(run);
        }
        return results;
      },
    };
  }

  #upkeeps(outbox: DerivingOutbox, tools: { randomness: Randomness; timers: Timers }) {
    const { table, entities, tables = {}, blobs = {} } = this.#options;
    return Object.entries(entities).flatMap(([name, given]) => {
      if (!isIndexed(given)) return [];
      const places: object = {
        table,
        tables: (tables as Readonly<Record<string, object | undefined>>)[name],
        blobs: (blobs as Readonly<Record<string, object | undefined>>)[name],
        outbox,
      };
      return [
        [
          name,
          new IndexUpkeep(given, places as IndexedPlaces<AnyIndexes<AnyDefinition>>, tools),
        ] as const,
      ];
    });
  }
}

/** The default limit of the entities of one read. */
const readMax = 1000;

function definitionOf(entities: ModelEntities, name: string): AnyDefinition {
  const given = own(entities, name);
  if (given === undefined) {
    throw new ValueError(`the model has ${Object.keys(entities).join(', ')}, and no '${name}'`);
  }
  return 'entity' in given ? given.entity : given;
}

function isIndexed(given: object): given is Indexed {
  return 'entity' in given && 'indexes' in given;
}

/** Two declarations of one table do not know of each other's messages. */
function refuseKeeping(base: TableGateway): void {
  if (!(base instanceof DerivingTable)) return;
  throw new DefinitionError(
    `${base.table} is a table that keeps something already: give openModel the table beneath, ` +
      'and declare in one model all that it keeps, a change feed with changeFeed()',
  );
}

function oneSink(bound: readonly BoundDerivation[]): MessageSink | undefined {
  const [sink, ...others] = bound.flatMap((each) => each.sink ?? []);
  if (others.length > 0) throw new DefinitionError('a table has one change feed, not several');
  return sink;
}

function refuseTwice(handlers: readonly MessageHandler[]): void {
  const types = handlers.map(({ type }) => type);
  const twice = types.find((type, index) => types.indexOf(type) !== index);
  if (twice !== undefined) throw new DefinitionError(`two handlers for '${twice}'`);
}

/**
 * A model of a table: entities, indexes, counters, copies and announcements, with the registry, the
 * outbox, the relay and the worker that they need. Sends nothing. Throws `DefinitionError` for
 * declarations that the table cannot keep.
 */
export function openModel<const E extends ModelEntities>(options: ModelOptions<E>): Model<E> {
  return new Model(options);
}
