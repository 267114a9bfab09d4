import { codecOf } from '../../definition/codec.js';
import type { AnyDefinition } from '../../definition/entity-definition.js';
import type { CreateOf, KeyOf, ReadOf } from '../../definition/shapes.js';
import { isZero, measure, pick, plus, type Numbers } from './measures.js';
import { countedBy, type PartitionViewOptions } from './view-options.js';

/** The amounts that a change adds to a summary. */
export interface Delta<V extends AnyDefinition> {
  readonly key: KeyOf<V>;
  readonly numbers: Numbers;
}

/** The amounts that the change of an entity adds to summaries, for those that it changes. */
export function deltasOf<S extends AnyDefinition, V extends AnyDefinition>(
  options: Omit<PartitionViewOptions<S, V>, 'table'>,
  before: ReadOf<S> | undefined,
  after: ReadOf<S> | undefined,
): readonly Delta<V>[] {
  const { keyOf, measures, view } = options;
  const { counts } = countedBy(options);
  const deltas = new Map<string, Delta<V>>();
  const count = (entity: ReadOf<S> | undefined, times: 1 | -1): void => {
    const key = entity === undefined || !counts(entity) ? undefined : keyOf(entity);
    if (key === undefined) return;
    const { partitionKey, rowKey } = codecOf(view).key(key);
    const name = JSON.stringify([partitionKey, rowKey]);
    const numbers = deltas.get(name)?.numbers ?? {};
    deltas.set(name, { key, numbers: plus(numbers, measure(measures, entity), times) });
  };
  count(before, -1);
  count(after, 1);
  return [...deltas.values()].filter(({ numbers }) => !isZero(numbers));
}

/** A summary after a change; a new one when there was none. */
export function added<V extends AnyDefinition>(
  current: (ReadOf<V> & object) | undefined,
  { key, numbers }: Delta<V>,
): CreateOf<V> & object {
  if (current === undefined) return { ...key, ...numbers };
  const next: object = { ...current, ...plus(pick(current, numbers), numbers) };
  return next as CreateOf<V> & object;
}
