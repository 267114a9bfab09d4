import { concurrently } from '../../../base/async/concurrently.js';
import type { AnyDefinition } from '../../definition/entity-definition.js';
import type { CreateOf, ReadOf } from '../../definition/shapes.js';
import type { Stored } from '../../definition/stored-entity.js';
import { unlessConflict } from '../../table/conditional-write.js';
import type { Entities } from '../../table/entities.js';
import type { TableScan } from '../../table/query-plan.js';

export interface ArchiveOptions<S extends AnyDefinition, A extends AnyDefinition> {
  /** What is archived: of one table, or of all shards of a map. */
  readonly from: Entities<S>;
  /** Which of it, such as by the date; absent: all of it. */
  readonly query?: TableScan<S>;
  /** The archive: perhaps of another account, and of another definition. */
  readonly to: Entities<A>;
  /** The entity of the archive; must give the same for the same entity. */
  readonly convert: (entity: Stored<ReadOf<S>>) => CreateOf<A>;
  /** Entities at a time; 8 when absent. */
  readonly concurrency?: number;
  /** Stops between entities; called again, it goes on. */
  readonly signal?: AbortSignal;
  readonly onProgress?: (report: ArchiveReport) => void;
}

export interface ArchiveReport {
  /** Entities that are in the archive and no longer where they were. */
  readonly archived: number;
  /** Entities that were changed while they were archived: the next call takes them. */
  readonly changed: number;
}

const concurrencyDefault = 8;
const batchSize = 100;

/**
 * Moves entities into an archive: each is written there first, and then deleted where it was unless
 * it has changed. So at any moment it is in one of both, and a call that was killed is repeated.
 * Range reads, and for each entity a write and a delete.
 */
export async function archiveEntities<S extends AnyDefinition, A extends AnyDefinition>(
  options: ArchiveOptions<S, A>,
): Promise<ArchiveReport> {
  const { from, query, to, convert, concurrency = concurrencyDefault, signal } = options;
  let [archived, changed] = [0, 0];
  const archive = async (entity: Stored<ReadOf<S>>): Promise<void> => {
    signal?.throwIfAborted();
    await to.upsertReplace(convert(entity));
    const isGone = await unlessConflict(async () => {
      await from.delete(entity);
      return true;
    });
    if (isGone) archived += 1;
    else changed += 1;
  };
  let batch: Stored<ReadOf<S>>[] = [];
  const flush = async (): Promise<void> => {
    await concurrently(batch, Math.max(1, concurrency), archive);
    batch = [];
    options.onProgress?.({ archived, changed });
  };
  for await (const entity of from.scanTable(query)) {
    batch.push(entity);
    if (batch.length >= batchSize) await flush();
  }
  if (batch.length > 0) await flush();
  return Object.freeze({ archived, changed });
}
