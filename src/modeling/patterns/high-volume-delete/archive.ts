import { concurrently } from '../../../base/async/concurrently.js';
import type { AnyDefinition } from '../../definition/entity-definition.js';
import type { CreateOf, ReadOf } from '../../definition/shapes.js';
import { etagOf, rowKeyOf, type Stored } from '../../definition/stored-entity.js';
import { unlessConflict } from '../../table/conditional-write.js';
import { isConflict } from '../../table/contention.js';
import type { Entities } from '../../table/entities.js';
import { ConditionFailedError } from '../../table/errors.js';
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
 * Moves entities into an archive. Writes each one to the archive first, then deletes it from its
 * table. If it has changed meanwhile, it stays there and its copy is deleted from the archive. So
 * at any moment an entity is in at least one of both tables, and several programs may archive at
 * the same time; repeat a call that was killed. Range reads, and for each entity an insert and a
 * delete; two point reads and an update more when the archive already has it, and a delete of the
 * copy when the entity has changed.
 */
export async function archiveEntities<S extends AnyDefinition, A extends AnyDefinition>(
  options: ArchiveOptions<S, A>,
): Promise<ArchiveReport> {
  const { from, query, concurrency = concurrencyDefault, signal } = options;
  let [archived, changed] = [0, 0];
  const archive = async (entity: Stored<ReadOf<S>>): Promise<void> => {
    signal?.throwIfAborted();
    const copy = await copied(options, entity);
    if (copy !== undefined && (await removed(options, entity, copy))) archived += 1;
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

/**
 * The copy in the archive; undefined when somebody else was faster. One that is there is written
 * over only while the entity is as it was read: another program may have archived a later state.
 */
async function copied<S extends AnyDefinition, A extends AnyDefinition>(
  { from, to, convert }: ArchiveOptions<S, A>,
  entity: Stored<ReadOf<S>>,
): Promise<Stored<ReadOf<A>> | undefined> {
  const copy = to.codec.complete(convert(entity));
  const inserted = await to.insertIfAbsent(copy);
  if (inserted !== undefined) return inserted;
  const found = await to.get(to.codec.parseKey(rowKeyOf(copy)));
  const current = await from.get(from.codec.parseKey(rowKeyOf(entity)));
  const isCurrent = current !== undefined && etagOf(current) === etagOf(entity);
  if (found === undefined || !isCurrent) return undefined;
  try {
    return await to.replace(copy, { ifMatch: etagOf(found) });
  } catch (error) {
    if (isConflict(error)) return undefined;
    throw error;
  }
}

/**
 * Deletes an archived entity from its table. False when it has changed or was deleted since it was
 * read. A changed entity stays for the next call, which decides anew whether to archive it.
 */
async function removed<S extends AnyDefinition, A extends AnyDefinition>(
  { from, to }: ArchiveOptions<S, A>,
  entity: Stored<ReadOf<S>>,
  copy: Stored<ReadOf<A>>,
): Promise<boolean> {
  try {
    await from.delete(entity);
    return true;
  } catch (error) {
    if (!isConflict(error)) throw error;
    const ifMatch = etagOf(copy);
    if (error instanceof ConditionFailedError && ifMatch !== '') {
      await unlessConflict(() => to.deleteIfExists(copy, { ifMatch }));
    }
    return false;
  }
}
