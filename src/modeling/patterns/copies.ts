import { nameOfKey } from '../rows/row-parts.js';
import { allPages } from '../table/all-rows.js';
import type { JsonValue } from '../definition/structured-types.js';
import { codecOf } from '../definition/codec.js';
import type { AnyDefinition } from '../definition/entity-definition.js';
import type { KeyOf, MergeOf, ReadOf } from '../definition/shapes.js';
import { ValueError } from '../rows/model-error.js';
import type { Row, RowKey, StoredRow } from '../rows/row.js';
import { sameProperties } from '../rows/same-value.js';
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
import type { Derivation, DerivedWrite, ReadRow, RowChange } from './derived-data/derivation.js';
import type { DerivingOutbox } from './derived-data/deriving-table.js';
import { rowAfter } from './derived-data/row-after.js';
import { denormalisationOf } from './denormalisation.js';
import { referenceCopiesOf } from './reference-copies.js';

/** Copies of properties that a table keeps. */
export interface CopiesOptions<S extends AnyDefinition, T extends AnyDefinition> {
  /** The type whose properties are copied, such as employees who are managers. */
  readonly source: S;
  /** The type with the copies, such as departments. */
  readonly target: T;
  /** The entities with copies of this one; the same for every state of it. Must be pure. */
  readonly targetsOf: (source: ReadOf<S>) => readonly KeyOf<T>[];
  /** The source of an entity's copy; undefined for none. The inverse of `targetsOf`. Must be pure. */
  readonly sourceOf: (target: ReadOf<T>) => KeyOf<S> | undefined;
  /** The copied properties. Must be pure. */
  readonly copy: (source: ReadOf<S>) => MergeOf<T>;
}

/**
 * Copies of properties of an entity in others, which the table of both keeps however either is
 * written. Copies in the source's partition change in its transaction; others when a worker has
 * handled the message. A target that is written gets the copy of its source, whatever the write
 * says. When the source is in its partition, the transaction takes a point read of it and a merge
 * of nothing, so that the source cannot change meanwhile; that gives the source a new ETag.
 */
export function copies<S extends AnyDefinition, T extends AnyDefinition>(
  options: CopiesOptions<S, T>,
): DerivationDeclaration {
  return {
    bind({ table, outbox }) {
      const denormalisation = denormalisationOf({
        ...options,
        sourceTable: table,
        targetTable: table,
      });
      const codec = codecOf(options.source);
      const handler = handle(messageOf(options), async (key) => {
        await denormalisation.refresh(codec.parseKey(key));
      });
      return {
        handlers: [handler],
        derivation: new CopyDerivation(options, outbox),
        check: (check) => checkedCopies(options, table, check),
      };
    },
  };
}

class CopyDerivation<S extends AnyDefinition, T extends AnyDefinition> implements Derivation {
  readonly #options: CopiesOptions<S, T>;
  readonly #outbox: DerivingOutbox | undefined;

  constructor(options: CopiesOptions<S, T>, outbox: DerivingOutbox | undefined) {
    this.#options = options;
    this.#outbox = outbox;
  }

  concerns(key: RowKey): boolean {
    const row = { ...key, properties: {} };
    return this.#isOf('source', row) || this.#isOf('target', row);
  }

  isSource(row: Row): boolean {
    return this.#isOf('source', row) || this.#isOf('target', row);
  }

  async changes(changes: readonly RowChange[], read: ReadRow) {
    const { copy } = this.#options;
    const known = new Map(changes.map(({ key, after }) => [nameOfKey(key), after]));
    const fromSources = changes.flatMap((each) =>
      this.#targetsOf(each).flatMap(({ key, keyOf, source }) => {
        if (key.partitionKey !== each.key.partitionKey) return [];
        const change = (row: StoredRow | undefined) =>
          row && this.#copied(row, keyOf, copy(source));
        return [{ item: each.item, key, change }];
      }),
    );
    const fromTargets = changes.map(async ({ item, key, after }) => {
      const from = this.#sourceKey(after);
      if (from === undefined || from.partitionKey !== key.partitionKey) return [];
      const row = known.has(nameOfKey(from)) ? known.get(nameOfKey(from)) : await read(from);
      if (row === undefined || !this.#isOf('source', row)) return [];
      const values = copy(codecOf(this.#options.source).fromRow(row));
      const change = (current: StoredRow | undefined) =>
        current && this.#copied(current, codecOf(this.#options.target).parseKey(key), values);
      return [{ item, key, change }];
    });
    return [...fromSources, ...(await Promise.all(fromTargets)).flat()];
  }

  plan() {
    return {
      writes: (changes: readonly RowChange[], read: ReadRow) => this.#touches(changes, read),
      messages: (changes: readonly RowChange[]) =>
        Promise.all(
          this.#farSources(changes).map(({ from, key }) => {
            if (this.#outbox !== undefined) {
              return this.#outbox.message(from, messageOf(this.#options), key);
            }
            const { source, target } = this.#options;
            throw new ValueError(
              `${target.type}: copies of the ${source.type} in '${key.partitionKey}' in other ` +
                'partitions need an outbox',
            );
          }),
        ),
    };
  }

  /** Merges of nothing: sources stay as they were read until their copies are stored. */
  async #touches(changes: readonly RowChange[], read: ReadRow): Promise<readonly DerivedWrite[]> {
    const written = new Set(changes.map(({ key }) => nameOfKey(key)));
    const touches = changes.map(
      async ({ item, key, before, after }): Promise<readonly DerivedWrite[]> => {
        const from = this.#sourceKey(after);
        if (from === undefined || from.partitionKey !== key.partitionKey) return [];
        if (written.has(nameOfKey(from))) return [];
        written.add(nameOfKey(from));
        const row = await read(from);
        if (row === undefined || !this.#isOf('source', row)) return [];
        // The ETag of a target that has the copy already keeps the source from changing unseen.
        if (before !== undefined && this.#isCopied(row, before)) return [];
        const { partitionKey, rowKey, etag } = row;
        const nothing = { partitionKey, rowKey, properties: {} };
        return [{ item, write: { kind: 'merge', row: nothing, etag } }];
      },
    );
    return (await Promise.all(touches)).flat();
  }

  /** The sources whose copies in other partitions are to be refreshed, each once. */
  #farSources(changes: readonly RowChange[]) {
    const found = new Map<string, { readonly from: string; readonly key: RowKey }>();
    for (const each of changes) {
      const from = each.key.partitionKey;
      const isFar = ({ partitionKey }: RowKey): boolean => partitionKey !== from;
      if (this.#targetsOf(each).some(({ key }) => isFar(key))) {
        found.set(nameOfKey(each.key), { from, key: each.key });
      }
      const source = this.#sourceKey(each.after);
      if (source !== undefined && isFar(source))
        found.set(nameOfKey(source), { from, key: source });
    }
    return [...found.values()];
  }

  /** The targets of a source whose copied properties changed. */
  #targetsOf({ before, after }: RowChange) {
    const { source, target, targetsOf, copy } = this.#options;
    if (after === undefined || !this.#isOf('source', after)) return [];
    const [codec, targets] = [codecOf(source), codecOf(target)];
    const entity = codec.fromRow(after);
    const former =
      before !== undefined && codec.matches(before) ? codec.fromRow(before) : undefined;
    return targetsOf(entity).flatMap((keyOf) => {
      const next = targets.toMergeRow(keyOf, copy(entity));
      const old = former && targets.toMergeRow(keyOf, copy(former));
      const isKept = old !== undefined && sameProperties(old, next) && sameProperties(next, old);
      const { partitionKey, rowKey } = next;
      return isKept ? [] : [{ keyOf, source: entity, key: { partitionKey, rowKey } }];
    });
  }

  #sourceKey(row: StoredRow | undefined): RowKey | undefined {
    if (row === undefined || !this.#isOf('target', row)) return undefined;
    const key = this.#options.sourceOf(codecOf(this.#options.target).fromRow(row));
    return key && codecOf(this.#options.source).key(key);
  }

  #copied(row: StoredRow, key: KeyOf<T>, values: MergeOf<T>): Row {
    const codec = codecOf(this.#options.target);
    const merged = rowAfter(row, { kind: 'upsert-merge', row: codec.toMergeRow(key, values) });
    // Written as a whole entity, in the form of the current version.
    return codec.toRow(codec.fromRow({ ...row, ...merged }));
  }

  #isCopied(source: StoredRow, target: StoredRow): boolean {
    const { copy } = this.#options;
    const [sources, targets] = [codecOf(this.#options.source), codecOf(this.#options.target)];
    const key = targets.parseKey(target);
    return sameProperties(targets.toMergeRow(key, copy(sources.fromRow(source))), target);
  }

  #isOf(side: 'source' | 'target', row: Row): boolean {
    return codecOf(this.#options[side]).matches(row);
  }
}

function messageOf({ source, target }: { source: AnyDefinition; target: AnyDefinition }) {
  return defineMessage<RowKey, RowKey>(`${source.type}.copied-to.${target.type}`, {
    payload: keyPairPayload,
  });
}

/** `[PartitionKey, RowKey]`. */
const keyPairPayload: PayloadCodec<RowKey, RowKey> = {
  encode: ({ partitionKey, rowKey }) => [partitionKey, rowKey],
  decode: (payload) => {
    const [partitionKey, rowKey] = Array.isArray(payload) ? (payload as readonly JsonValue[]) : [];
    if (typeof partitionKey === 'string' && typeof rowKey === 'string') {
      return { partitionKey, rowKey };
    }
    throw new ValueError('a key is a pair of texts');
  },
};

/** A point read of the source for each target; a repair is that of `ReferenceCopies`. */
async function* checkedCopies<S extends AnyDefinition, T extends AnyDefinition>(
  { source, target, sourceOf, copy }: CopiesOptions<S, T>,
  table: TableGateway,
  { repairs, cursor: from, pageRows }: DerivedCheck,
): AsyncGenerator<DerivedPage, void, undefined> {
  const [sources, targets] = [codecOf(source), codecOf(target)];
  const references = referenceCopiesOf({
    source,
    sourceTable: table,
    target,
    targetTable: table,
    sourceOf,
    copy: (entity, found) => (found === undefined ? entity : { ...entity, ...copy(found) }),
    targetsOf: () => [],
  });
  for await (const { rows, cursor } of allPages(table, { limit: pageRows, cursor: from })) {
    const own = rows.filter((row) => targets.matches(row));
    const drifts: DerivedDrift[] = [];
    let repaired = 0;
    for (const row of own) {
      const of = sourceOf(targets.fromRow(row));
      const found = of === undefined ? undefined : await table.get(sources.key(of));
      if (found === undefined || !sources.matches(found)) continue;
      const key = targets.parseKey(row);
      const expected = copy(sources.fromRow(found));
      if (sameProperties(targets.toMergeRow(key, expected), row)) continue;
      if (!repairs) drifts.push({ of: target.type, key, expected });
      else if ((await references.refreshTarget(key)) === 'refreshed') repaired += 1;
    }
    const found = { checked: own.length, drifts, repaired };
    yield cursor === undefined ? found : { ...found, cursor };
  }
}
