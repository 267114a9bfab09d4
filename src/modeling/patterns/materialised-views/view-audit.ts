import { codecOf } from '../../definition/codec.js';
import type { AnyDefinition } from '../../definition/entity-definition.js';
import type { KeyOf, ReadOf } from '../../definition/shapes.js';
import { etagOf, type Stored } from '../../definition/stored-entity.js';
import type { RowKey } from '../../rows/row.js';
import { isConflict, retryConflicts } from '../../table/contention.js';
import { Entities } from '../../table/entities.js';
import { ContentionError } from '../../table/errors.js';
import { partitionRows } from '../../table/partition-rows.js';
import { isSame, measure, pick, plus, type Numbers } from './measures.js';
import { countedBy, type PartitionViewOptions } from './view-options.js';

/** The stored and the correct values of a summary. */
export interface ViewDrift {
  /** The key of the summary. */
  readonly key: object;
  readonly stored: Numbers;
  readonly actual: Numbers;
}

interface Comparison<V extends AnyDefinition> extends ViewDrift {
  readonly key: KeyOf<V>;
  /** Undefined when there is no summary yet. */
  readonly entity: Stored<ReadOf<V>> | undefined;
}

/**
 * The summaries of a partition that differ from its entities; those of the whole table without a
 * partition, wherever their entities are.
 */
export async function compareView<S extends AnyDefinition, V extends AnyDefinition>(
  options: PartitionViewOptions<S, V>,
  partitionKey?: string,
): Promise<readonly Comparison<V>[]> {
  const { source, view, table, keyOf, measures } = options;
  const { where, counts } = countedBy(options);
  const found = new Map<string, Comparison<V>>();
  const codec = codecOf(view);
  // Reads the summaries first: a later change of an entity also changes the ETag of its summary, so
  // a correction under the older ETag is refused.
  for await (const entity of partitionRows(view, table, partitionKey)) {
    const stored = pick(entity, measures);
    const key = codec.parseKey(codec.toRow(entity));
    const nothing = plus(stored, stored, -1);
    found.set(nameOf(codec.key(key)), { key, entity, stored, actual: nothing });
  }
  for await (const entity of partitionRows(source, table, partitionKey, where)) {
    const key = counts(entity) ? keyOf(entity) : undefined;
    if (key === undefined) continue;
    const name = nameOf(codec.key(key));
    const before = found.get(name) ?? { key, entity: undefined, stored: {}, actual: {} };
    const actual = plus(before.actual, measure(measures, entity));
    found.set(name, { ...before, actual });
  }
  return [...found.values()].filter(({ stored, actual }) => !isSame(stored, actual));
}

function nameOf({ partitionKey, rowKey }: RowKey): string {
  return JSON.stringify([partitionKey, rowKey]);
}

/** See `PartitionView.rebuild`. */
export async function rebuildView<S extends AnyDefinition, V extends AnyDefinition>(
  options: PartitionViewOptions<S, V>,
  partitionKey: string,
): Promise<readonly ViewDrift[]> {
  const corrected: ViewDrift[] = [];
  const attempt = async (): Promise<void> => {
    const drifts = await compareView(options, partitionKey);
    for (const drift of drifts) if (await correct(options, drift)) corrected.push(drift);
    if (drifts.length > 0) throw new ContentionError('the summaries have to be compared again');
  };
  const isOvertaken = (error: unknown): boolean => error instanceof ContentionError;
  await retryConflicts(options.view.type, options, attempt, isOvertaken);
  return corrected.map(({ key, stored, actual }) => ({ key, stored, actual }));
}

/** False when another writer has changed the summary since it was read. */
async function correct<S extends AnyDefinition, V extends AnyDefinition>(
  { view, table }: PartitionViewOptions<S, V>,
  { key, entity, actual }: Comparison<V>,
): Promise<boolean> {
  const views = new Entities(view, table);
  try {
    if (entity === undefined) await views.insert({ ...key, ...actual });
    else {
      const right = { ...entity, ...actual } as ReadOf<V>;
      await views.replace(right, { ifMatch: etagOf(entity) });
    }
    return true;
  } catch (error) {
    if (isConflict(error)) return false;
    throw error;
  }
}
