import { codecOf } from '../../definition/codec.js';
import type { AnyDefinition } from '../../definition/entity-definition.js';
import { isConflict, retryConflicts } from '../../table/contention.js';
import { Entities } from '../../table/entities.js';
import { ContentionError } from '../../table/errors.js';
import type { DerivedCheck, DerivedPage } from '../derived-data/declaration.js';
import type { Numbers } from './measures.js';
import { countPages, differing, readCount, writeCount, type Count } from './view-count.js';
import type { PlacedViewOptions } from './view-options.js';

/** The stored and the correct values of a summary. */
export interface ViewDrift {
  /** The key of the summary. */
  readonly key: object;
  readonly stored: Numbers;
  readonly actual: Numbers;
}

/** The summaries of a partition that differ from its entities. */
export async function compareView<S extends AnyDefinition, V extends AnyDefinition>(
  options: PlacedViewOptions<S, V>,
  partitionKey: string,
): Promise<readonly ViewDrift[]> {
  return (await countsOf(options, partitionKey)).map((count) => driftOf(options, count));
}

async function countsOf<S extends AnyDefinition, V extends AnyDefinition>(
  options: PlacedViewOptions<S, V>,
  partitionKey: string,
): Promise<readonly Count[]> {
  let found: readonly Count[] = [];
  for await (const page of countPages(options, { partitionKey })) {
    if (page.next === undefined) found = differing(page);
  }
  return found;
}

function driftOf<S extends AnyDefinition, V extends AnyDefinition>(
  { view }: PlacedViewOptions<S, V>,
  { key, stored, actual }: Count,
): ViewDrift {
  return { key: codecOf(view).parseKey(key), stored, actual };
}

/** See `PartitionView.rebuild`. */
export async function rebuildView<S extends AnyDefinition, V extends AnyDefinition>(
  options: PlacedViewOptions<S, V>,
  partitionKey: string,
): Promise<readonly ViewDrift[]> {
  const corrected: ViewDrift[] = [];
  const attempt = async (): Promise<void> => {
    const counts = await countsOf(options, partitionKey);
    for (const count of counts) {
      if (await correct(options, count)) corrected.push(driftOf(options, count));
    }
    if (counts.length > 0) throw new ContentionError('the summaries have to be compared again');
  };
  const isOvertaken = (error: unknown): boolean => error instanceof ContentionError;
  await retryConflicts(options.view.type, options, attempt, isOvertaken);
  return corrected;
}

/**
 * Compares summaries with the entities of a table, wherever both are. Repairs at the end, when no
 * message waits, because a waiting change would be counted twice. A summary that was changed
 * meanwhile has another ETag by then, so it is not repaired but reported.
 */
export async function* checkedCounts<S extends AnyDefinition, V extends AnyDefinition>(
  options: PlacedViewOptions<S, V>,
  { repairs, cursor, pageRows, drained }: DerivedCheck,
): AsyncGenerator<DerivedPage, void, undefined> {
  const from = cursor === undefined ? undefined : readCount(cursor);
  if (repairs && from === undefined) await drained();
  for await (const page of countPages(options, { pageRows }, from)) {
    const { checked, next } = page;
    if (next !== undefined) {
      yield { checked, drifts: [], repaired: 0, cursor: writeCount(page) };
      continue;
    }
    const found = differing(page);
    const isSafe = repairs && found.length > 0 && (await drained());
    const left: Count[] = [];
    for (const count of found) if (!isSafe || !(await correct(options, count))) left.push(count);
    const drifts = left.map((count) => {
      const { key, actual } = driftOf(options, count);
      return { of: options.view.type, key, expected: actual };
    });
    yield { checked, drifts, repaired: found.length - left.length };
  }
}

/** False when another writer has changed the summary since it was read. */
async function correct<S extends AnyDefinition, V extends AnyDefinition>(
  { view, table, viewTable = table }: PlacedViewOptions<S, V>,
  { key: rowKey, etag, actual }: Count,
): Promise<boolean> {
  const views = new Entities(view, viewTable);
  const key = views.codec.parseKey(rowKey);
  try {
    if (etag === undefined) {
      await views.insert({ ...key, ...actual });
      return true;
    }
    const current = await views.get(key);
    if (current === undefined) return false;
    await views.replace({ ...current, ...actual }, { ifMatch: etag });
    return true;
  } catch (error) {
    if (isConflict(error)) return false;
    throw error;
  }
}
