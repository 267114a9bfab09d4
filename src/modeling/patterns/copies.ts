import { isDeepStrictEqual } from 'node:util';
import type { JsonValue } from '../definition/structured-types.js';
import { codecOf } from '../definition/codec.js';
import type { AnyDefinition } from '../definition/entity-definition.js';
import type { KeyOf, ReadOf } from '../definition/shapes.js';
import { DefinitionError, ModelError, ValueError } from '../rows/model-error.js';
import { nameOfKey } from '../rows/row-parts.js';
import type { Row, RowKey, StoredRow } from '../rows/row.js';
import { allPages } from '../table/all-rows.js';
import type { TableGateway } from '../table/gateway.js';
import { handle } from '../worker/handler.js';
import { defineMessage } from '../worker/message-type.js';
import type { PayloadCodec } from '../worker/payload.js';
import type {
  DerivationDeclaration,
  DerivedCheck,
  DerivedDrift,
  DerivedPage,
} from './derived-data/declaration.js';
import type {
  Derivation,
  DerivedChange,
  DerivedWrite,
  ReadRow,
  RowChange,
} from './derived-data/derivation.js';
import type { DerivingOutbox } from './derived-data/deriving-table.js';
import {
  copiesOf,
  hasCopies,
  withCopies,
  unlessRefused,
  type Copies,
  type CopyRelation,
} from './denormalisation.js';

/** Copies of properties that a table keeps. At most one of the two tables is another one. */
export interface CopiesOptions<
  S extends AnyDefinition,
  T extends AnyDefinition,
> extends CopyRelation<S, T> {
  /** The table of the sources, where this one has the targets alone. */
  readonly sourceTable?: TableGateway;
  /** The table of the targets, where this one has the sources alone. */
  readonly targetTable?: TableGateway;
}

/**
 * Copies of properties of an entity in others, which the table keeps however either is written:
 * changed with the source, and cleared when it is deleted. What `targetsOf` names in the partition
 * and table of the source changes in its transaction; what is elsewhere, or found by a query, when
 * a worker has handled the message. A target that is written gets the copy of its source, whatever
 * the write says. When the source is in its partition, the transaction takes a point read of it and
 * a merge of nothing, so that the source cannot change meanwhile; that gives the source a new ETag.
 *
 * With two tables, declare the same with each of them: `targetTable` where the sources are,
 * `sourceTable` where the targets are. Throws `DefinitionError` for both at once.
 */
export function copies<S extends AnyDefinition, T extends AnyDefinition>(
  options: CopiesOptions<S, T>,
): DerivationDeclaration {
  const { source, target, sourceTable, targetTable } = options;
  const what = `copies of ${source.type} in ${target.type}`;
  if (sourceTable !== undefined && targetTable !== undefined) {
    throw new DefinitionError(
      `${what}: the table that keeps them has the sources or the targets; leave out one of ` +
        'sourceTable and targetTable',
    );
  }
  return {
    bind({ table, outbox }) {
      if (outbox === undefined) throw new DefinitionError(`${what} need an outbox`);
      const tables = { sourceTable: sourceTable ?? table, targetTable: targetTable ?? table };
      const called = copiesOf({ ...options, ...tables });
      const handler = handle(messageOf(options), async ({ of, key }) => {
        if (of === 'source') await called.refresh(codecOf(source).parseKey(key));
        else await called.refreshTarget(codecOf(target).parseKey(key));
      });
      return {
        handlers: [handler],
        derivation: new CopyDerivation(options, outbox),
        check: (check) => checkedCopies(target, tables.targetTable, called, check),
      };
    },
  };
}

class CopyDerivation<S extends AnyDefinition, T extends AnyDefinition> implements Derivation {
  readonly #options: CopiesOptions<S, T>;
  readonly #outbox: DerivingOutbox;

  constructor(options: CopiesOptions<S, T>, outbox: DerivingOutbox) {
    this.#options = options;
    this.#outbox = outbox;
  }

  concerns(key: RowKey): boolean {
    return this.isSource({ ...key, properties: {} });
  }

  isSource(row: Row): boolean {
    return this.#isSource(row) || this.#isTarget(row);
  }

  async changes(changes: readonly RowChange[], read: ReadRow): Promise<readonly DerivedChange[]> {
    const known = new Map(changes.map(({ key, after }) => [nameOfKey(key), after]));
    const fromSources = changes.flatMap((each) => this.#changesOfTargets(each));
    const fromTargets = changes.map(async ({ item, key, after }) => {
      if (after === undefined || !this.#isTarget(after)) return [];
      const from = this.#sourceKey(after);
      if (from !== undefined && !this.#isNear(from, key)) return [];
      const name = from && nameOfKey(from);
      const row =
        from && (known.has(nameOfKey(from)) ? known.get(nameOfKey(from)) : await read(from));
      return [{ item, key, change: this.#copying(name, row) }];
    });
    return [...fromSources, ...(await Promise.all(fromTargets)).flat()];
  }

  plan() {
    return {
      writes: (changes: readonly RowChange[], read: ReadRow) => this.#touches(changes, read),
      messages: (changes: readonly RowChange[]) =>
        Promise.all(
          this.#stale(changes).map(({ from, stale }) =>
            this.#outbox.message(from, messageOf(this.#options), stale),
          ),
        ),
    };
  }

  /**
   * Empty merges of sources, which make the transaction fail if a source has changed since it was
   * read.
   */
  async #touches(changes: readonly RowChange[], read: ReadRow): Promise<readonly DerivedWrite[]> {
    const written = new Set(changes.map(({ key }) => nameOfKey(key)));
    const touches = changes.map(
      async ({ item, key, before, after }): Promise<readonly DerivedWrite[]> => {
        const from = this.#sourceKey(after);
        if (from === undefined || !this.#isNear(from, key)) return [];
        const name = nameOfKey(from);
        if (written.has(name)) return [];
        written.add(name);
        const row = await read(from);
        if (row === undefined || !this.#isSource(row)) return [];
        // The ETag of a target that has the copy already keeps the source from changing unseen.
        if (before !== undefined && this.#hasCopies(before, name, row)) return [];
        const { partitionKey, rowKey, etag } = row;
        const nothing = { partitionKey, rowKey, properties: {} };
        return [{ item, write: { kind: 'merge', row: nothing, etag } }];
      },
    );
    return (await Promise.all(touches)).flat();
  }

  /** The targets and sources that a worker has to refresh afterwards, each once. */
  #stale(changes: readonly RowChange[]) {
    const found = new Map<string, { readonly from: string; readonly stale: Stale }>();
    const add = (of: Stale['of'], { key }: RowChange): void => {
      const stale = { of, key };
      found.set(JSON.stringify([of, nameOfKey(key)]), { from: key.partitionKey, stale });
    };
    for (const each of changes) {
      if (this.#isChanged(each)) {
        const targets = this.#targetsOf(each.key);
        if (targets?.every((key) => this.#isNear(key, each.key)) !== true) add('source', each);
      }
      const source = this.#sourceKey(each.after);
      if (source !== undefined && !this.#isNear(source, each.key)) add('target', each);
    }
    return [...found.values()];
  }

  /**
   * The changes of those targets of a source that are in its partition and whose keys follow from
   * its key.
   */
  #changesOfTargets({ item, key, before, after }: RowChange): readonly DerivedChange[] {
    if (!this.#isChanged({ item, key, before, after })) return [];
    const near = (this.#targetsOf(key) ?? []).filter((target) => this.#isNear(target, key));
    const change = this.#copying(nameOfKey(key), after);
    return near.map((target) => ({ item, key: target, change }));
  }

  /**
   * A change that gives a target of this source, or of no source, its copies, and leaves any other
   * row as it is, also one that has them: it may have no room for the defaults that it lacks.
   */
  #copying(source: string | undefined, from: StoredRow | undefined) {
    return (current: StoredRow | undefined): Row | undefined => {
      if (current === undefined || !this.#isTarget(current)) return undefined;
      if (this.#sourceName(current) !== source) return undefined;
      const codec = codecOf(this.#options.target);
      const [entity, given] = [codec.fromRow(current), this.#entity(from)];
      if (hasCopies(this.#options, entity, given)) return undefined;
      // Written as a whole entity, in the form of the current version.
      return codec.toRow(withCopies(this.#options, entity, given));
    };
  }

  #hasCopies(target: StoredRow, source: string, from: StoredRow): boolean {
    if (!this.#isTarget(target) || this.#sourceName(target) !== source) return false;
    const entity = codecOf(this.#options.target).fromRow(target);
    return hasCopies(this.#options, entity, this.#entity(from));
  }

  /** Whether copied properties of a source have changed, or it has come or gone. */
  #isChanged({ before, after }: RowChange): boolean {
    const [old, next] = [this.#entity(before), this.#entity(after)];
    if (old === undefined && next === undefined) return false;
    const { copy } = this.#options;
    return !isDeepStrictEqual(copy(old), copy(next));
  }

  /** The keys of the rows that may be targets of a source; undefined when a query finds them. */
  #targetsOf(source: RowKey): readonly RowKey[] | undefined {
    const { source: from, target, targetsOf } = this.#options;
    const found = targetsOf(codecOf(from).parseKey(source));
    if (!(Symbol.iterator in found)) return undefined;
    return [...found].map((key: KeyOf<T>) => codecOf(target).key(key));
  }

  #sourceKey(row: StoredRow | undefined): RowKey | undefined {
    if (row === undefined || !this.#isTarget(row)) return undefined;
    const key = this.#options.sourceOf(codecOf(this.#options.target).fromRow(row));
    return key && codecOf(this.#options.source).key(key);
  }

  #sourceName(row: StoredRow): string | undefined {
    const key = this.#sourceKey(row);
    return key && nameOfKey(key);
  }

  #entity(row: StoredRow | undefined): ReadOf<S> | undefined {
    if (row === undefined || !this.#isSource(row)) return undefined;
    return codecOf(this.#options.source).fromRow(row);
  }

  /** Whether a source and a target can be in one transaction. */
  #isNear(one: RowKey, other: RowKey): boolean {
    const { sourceTable, targetTable } = this.#options;
    const isOneTable = sourceTable === undefined && targetTable === undefined;
    return isOneTable && one.partitionKey === other.partitionKey;
  }

  #isSource(row: Row): boolean {
    const { source, sourceTable } = this.#options;
    return sourceTable === undefined && codecOf(source).matches(row);
  }

  #isTarget(row: Row): boolean {
    const { target, targetTable } = this.#options;
    return targetTable === undefined && codecOf(target).matches(row);
  }
}

/** A target whose copies may be old, or a source of such targets. */
interface Stale {
  readonly of: 'source' | 'target';
  readonly key: RowKey;
}

function messageOf({ source, target }: { source: AnyDefinition; target: AnyDefinition }) {
  return defineMessage<Stale, Stale>(`${source.type}.copied-to.${target.type}`, {
    payload: stalePayload,
  });
}

/** `['source' | 'target', PartitionKey, RowKey]`. */
const stalePayload: PayloadCodec<Stale, Stale> = {
  encode: ({ of, key }) => [of, key.partitionKey, key.rowKey],
  decode: (payload) => {
    const [of, partitionKey, rowKey] = Array.isArray(payload)
      ? (payload as readonly JsonValue[])
      : [];
    const isSide = of === 'source' || of === 'target';
    if (isSide && typeof partitionKey === 'string' && typeof rowKey === 'string') {
      return { of, key: { partitionKey, rowKey } };
    }
    throw new ValueError('what is copied is a side and the two texts of a key');
  },
};

/**
 * A point read of the source of each target. Goes on after a target that cannot be read, whose
 * source cannot, or that is refused, and tells it.
 */
async function* checkedCopies<S extends AnyDefinition, T extends AnyDefinition>(
  target: T,
  table: TableGateway,
  called: Copies<S, T>,
  { repairs, cursor: from, pageRows }: DerivedCheck,
): AsyncGenerator<DerivedPage, void, undefined> {
  const codec = codecOf(target);
  for await (const { rows, cursor } of allPages(table, { limit: pageRows, cursor: from })) {
    const own = rows.filter((row) => codec.matches(row));
    const drifts: DerivedDrift[] = [];
    let repaired = 0;
    for (const row of own) {
      const compared = await unlessRefused(() => called.drift(codec.fromRow(row)));
      if (compared instanceof ModelError) {
        const { partitionKey, rowKey } = row;
        drifts.push({ of: target.type, unreadable: { partitionKey, rowKey, error: compared } });
      }
      if (compared === undefined || compared instanceof ModelError) continue;
      const drift = { of: target.type, key: codec.parseKey(row), expected: compared };
      const outcome = repairs
        ? await unlessRefused(() => called.refreshTarget(drift.key))
        : undefined;
      if (outcome instanceof ModelError) drifts.push({ ...drift, error: outcome });
      else if (outcome === undefined) drifts.push(drift);
      else if (outcome === 'refreshed') repaired += 1;
    }
    const found = { checked: own.length, drifts, repaired };
    yield cursor === undefined ? found : { ...found, cursor };
  }
}
