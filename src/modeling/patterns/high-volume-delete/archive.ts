import { requireCounts } from '../../definition/count.js';
import { concurrently } from '../../../base/async/concurrently.js';
import type { AnyDefinition } from '../../definition/entity-definition.js';
import type { CreateOf, ReadOf } from '../../definition/shapes.js';
import { etagOf, rowKeyOf, type Stored } from '../../definition/stored-entity.js';
import { DecodeError } from '../../rows/model-error.js';
import type { RowKey } from '../../rows/row.js';
import { unlessConflict } from '../../table/conditional-write.js';
import { isConflict } from '../../table/contention.js';
import type { Entities } from '../../table/entities.js';
import { movingTable } from '../../table/moving-table.js';
import type { TableScan } from '../../table/query-plan.js';

export interface ArchiveOptions<S extends AnyDefinition, A extends AnyDefinition> {
  /** The entities to archive: of one table, or of all shards of a map. */
  readonly from: Entities<S>;
  /** Which of the entities, such as by the date; absent: all of them. */
  readonly query?: TableScan<S>;
  /** The archive: perhaps of another account, and of another definition. */
  readonly to: Entities<A>;
  /** The entity of the archive; must give the same key for the same entity. */
  readonly convert: (entity: Stored<ReadOf<S>>) => CreateOf<A>;
  /**
   * Whether an entity that has changed since it was read is still the one that was read, and no new
   * one with its key: by a property that never changes, such as its creation time. If it is still
   * the same, the inserted copy is deleted, after an empty merge that gives the entity a new ETag.
   * Copies stay when absent.
   */
  readonly isSame?: (read: Stored<ReadOf<S>>, current: Stored<ReadOf<S>>) => boolean;
  /**
   * Called with the key of each copy that stays although its entity was changed or deleted
   * meanwhile.
   */
  readonly onCopyLeft?: (copy: RowKey) => void;
  /** Entities at a time; 8 when absent. */
  readonly concurrency?: number;
  /** Stops between entities; another call continues. */
  readonly signal?: AbortSignal;
  readonly onProgress?: (report: ArchiveReport) => void;
}

export interface ArchiveReport {
  /** Entities that were moved to the archive. */
  readonly archived: number;
  /** Entities that were changed while they were archived: the next call takes them. */
  readonly changed: number;
}

const concurrencyDefault = 8;
const batchSize = 100;

/**
 * Moves entities into an archive: each is written there first, and then deleted where it was unless
 * it has changed. So at any moment its latest state is in one of both, a call that was killed is
 * repeated, and several programs may do it at the same time. The copy of an entity that has changed
 * stays, and `onCopyLeft` gets its key, unless `isSame` shows that the copy may be deleted; copies
 * of an interrupted call stay too. The next call overwrites a copy if the query still selects its
 * entity. Range reads, and for each entity an insert and a delete; a point read and two updates
 * more where the archive has it, and with `isSame` a point read, an update and a delete of the copy
 * for one that has changed. Throws `DecodeError` when a row of another type has the key in the
 * archive.
 */
export async function archiveEntities<S extends AnyDefinition, A extends AnyDefinition>(
  options: ArchiveOptions<S, A>,
): Promise<ArchiveReport> {
  const { query, concurrency = concurrencyDefault, signal } = options;
  requireCounts({ concurrency });
  const [from, to] = [byMoves(options.from), byMoves(options.to)];
  let [archived, changed] = [0, 0];
  const archive = async (entity: Stored<ReadOf<S>>): Promise<void> => {
    signal?.throwIfAborted();
    if (await isMoved({ ...options, from, to }, entity)) archived += 1;
    else changed += 1;
  };
  let batch: Stored<ReadOf<S>>[] = [];
  const flush = async (): Promise<void> => {
    await concurrently(batch, concurrency, archive);
    batch = [];
    options.onProgress?.({ archived, changed });
  };
  for await (const entity of options.from.scanTable(query)) {
    batch.push(entity);
    if (batch.length >= batchSize) await flush();
  }
  if (batch.length > 0) await flush();
  return Object.freeze({ archived, changed });
}

/** The entities, every write of which is a step of a move. */
function byMoves<D extends AnyDefinition>(entities: Entities<D>): Entities<D> {
  return entities.through(movingTable(entities.table));
}

/**
 * False when the entity has changed since it was read: the next call decides whether to archive it.
 */
async function isMoved<S extends AnyDefinition, A extends AnyDefinition>(
  options: ArchiveOptions<S, A>,
  entity: Stored<ReadOf<S>>,
): Promise<boolean> {
  const { from, to, convert, onCopyLeft } = options;
  const copy = to.codec.complete(convert(entity));
  const inserted = await to.insertIfAbsent(copy);
  const ifMatch =
    inserted === undefined ? await writtenOver(options, entity, copy) : etagOf(entity);
  if (ifMatch === undefined) return false;
  const isDeleted = await unlessConflict(async () => {
    await from.delete(entity, { ifMatch });
    return true;
  });
  if (isDeleted) return true;
  if (inserted === undefined || !(await isTakenBack(options, entity, inserted))) {
    onCopyLeft?.(rowKeyOf(copy));
  }
  return false;
}

/**
 * The ETag of the entity once the archive has it; undefined when another program was faster.
 * Another program may have archived a later state, so only a write proves that the entity is
 * unchanged: reads may be outdated, as those of a shard map are. The copy is read before that
 * proof.
 */
async function writtenOver<S extends AnyDefinition, A extends AnyDefinition>(
  { from, to }: ArchiveOptions<S, A>,
  entity: Stored<ReadOf<S>>,
  copy: Stored<ReadOf<A>>,
): Promise<string | undefined> {
  const key = rowKeyOf(copy);
  const found = await to.table.get(key, to.codec.selectOf([]));
  if (found === undefined) return undefined;
  if (!to.codec.matches(found)) throw otherTypeError(to.definition, key);
  try {
    const etag = await touched(from, entity);
    if (etag === undefined) return undefined;
    await to.replace(copy, { ifMatch: found.etag });
    return etag;
  } catch (error) {
    if (isConflict(error)) return undefined;
    throw error;
  }
}

/**
 * The ETag of the entity after an empty merge, which is possible even for a full row. It fails when
 * the entity is not as it was read. Undefined when the answer does not tell the ETag.
 */
async function touched<S extends AnyDefinition>(
  { table }: Entities<S>,
  entity: Stored<ReadOf<S>>,
): Promise<string | undefined> {
  const row = { ...rowKeyOf(entity), properties: {} };
  const { etag } = await table.write({ kind: 'merge', row, etag: etagOf(entity) });
  return etag;
}

function otherTypeError({ type }: AnyDefinition, { partitionKey, rowKey }: RowKey): DecodeError {
  const place = `('${partitionKey}', '${rowKey}')`;
  return new DecodeError(
    `${type}: the archive has a row of another type at ${place}, which stays; ` +
      'give the archive keys of its own',
  );
}

/**
 * Deletes the copy of an entity that has changed. A delete that was repeated after a lost answer
 * also fails when another entity got the key, and then the copy is the only remaining one: only the
 * caller can distinguish the two cases, and only a write proves that the entity is there.
 */
async function isTakenBack<S extends AnyDefinition, A extends AnyDefinition>(
  { from, to, isSame }: ArchiveOptions<S, A>,
  entity: Stored<ReadOf<S>>,
  copy: Stored<ReadOf<A>>,
): Promise<boolean> {
  const ifMatch = etagOf(copy);
  if (isSame === undefined || ifMatch === '') return false;
  const row = await from.table.get(rowKeyOf(entity));
  const current = row && readable(() => from.codec.fromRow(row));
  if (current === undefined || !isSame(entity, current)) return false;
  return unlessConflict(async () => {
    await touched(from, current);
    return to.deleteIfExists(copy, { ifMatch });
  });
}

/** Undefined for a row that cannot be read: its copy stays and is reported. */
function readable<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof DecodeError) return undefined;
    throw error;
  }
}
