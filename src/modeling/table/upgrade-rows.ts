import { requireCounts, requireRate } from '../definition/count.js';
import { allPages } from './all-rows.js';
import { systemClock, type Clock } from '../../base/clock.js';
import { sleep } from '../../base/async/sleep.js';
import { holdingTimers, type Timers } from '../../base/async/timers.js';
import type { AnyDefinition } from '../definition/entity-definition.js';
import type { PartitionOf } from '../definition/shapes.js';
import { storedAs } from '../definition/stored-entity.js';
import type { RowKey, StoredRow } from '../rows/row.js';
import { bulk } from './bulk.js';
import {
  ConditionFailedError,
  ContentionError,
  EntityNotFoundError,
  isAmbiguous,
  ModelError,
} from './errors.js';
import type { Entities } from './entities.js';
import { whereStored } from './filter.js';
import { pageRowsMax } from './gateway.js';
import type { RowSelection } from './row-selection.js';
import { writesOf, type PutWrite } from './row-writes.js';
import { inOrder } from './in-order.js';
import type { UnreadableRow } from './unreadable-row.js';

/** The options of `upgradeRows`. */
export interface UpgradeOptions<D extends AnyDefinition> {
  /** One partition; the whole table when absent. */
  readonly partition?: PartitionOf<D>;
  /** Only counts; writes nothing. */
  readonly dryRun?: boolean;
  /** Maximum rows of a page, after which progress is reported; 1 to 1000, 1000 when absent. */
  readonly pageRows?: number;
  /** Concurrent requests; 8 when absent. */
  readonly concurrency?: number;
  /** Maximum rows written per second, averaged over pages; unlimited when absent. */
  readonly rowsPerSecond?: number;
  /** The cursor of an earlier run that was stopped. */
  readonly from?: string;
  /** Stops the work after a page. */
  readonly signal?: AbortSignal;
  readonly onProgress?: (report: UpgradeReport) => void;
  /** The system's when absent. */
  readonly clock?: Clock;
  readonly timers?: Timers;
}

/** The progress of an upgrade. */
export interface UpgradeReport {
  /** Rows of the type. */
  readonly checked: number;
  /** Rows of an older version when they were read. */
  readonly outdated: number;
  /** Outdated rows that this upgrade wrote in the new form; 0 in a dry run. */
  readonly upgraded: number;
  /**
   * Rows of a version that nothing upgrades, that the upgrade refuses, or that the definition
   * cannot store; the first 1,000.
   */
  readonly failures: readonly UnreadableRow[];
  /** `from` of the next run; absent at the end. */
  readonly cursor?: string;
}

const concurrencyDefault = 8;
const failuresMax = 1000;

/**
 * Stores all rows of older versions in the form of the definition, as a replace of each would.
 * Programs that know the new version may continue meanwhile: each row is written under its ETag,
 * and read again after a conflict. Can be repeated at any time.
 *
 * Sends a range read for each page of rows, an entity group transaction for at most 100 rows of a
 * partition, and a point read and an update for a row that changed meanwhile. Copies and indexes
 * follow as after any other write through the table of the entities.
 */
export async function upgradeRows<D extends AnyDefinition>(
  entities: Entities<D>,
  options: UpgradeOptions<D> = {},
): Promise<UpgradeReport> {
  const { clock = systemClock, timers = holdingTimers, signal, rowsPerSecond } = options;
  requireCounts({ pageRows: options.pageRows }, { max: pageRowsMax });
  requireCounts({ concurrency: options.concurrency });
  requireRate('rowsPerSecond', rowsPerSecond);
  const beganMs = clock.monotonicMs();
  const selection = selectionOf(entities, options.partition);
  const failures: UnreadableRow[] = [];
  let report: UpgradeReport = { checked: 0, outdated: 0, upgraded: 0, failures };
  const query = { ...selection, limit: options.pageRows ?? pageRowsMax, cursor: options.from };
  for await (const { rows, cursor } of allPages(entities.table, query)) {
    const fail = (failure: UnreadableRow): void => {
      if (failures.length < failuresMax) failures.push(failure);
    };
    const own = rows.filter((row) => entities.codec.matches(row));
    const outdated = own.flatMap((row) => outdatedOf(entities, row, fail));
    const upgraded =
      options.dryRun === true ? 0 : await storePage(entities, outdated, options, fail);
    report = {
      checked: report.checked + own.length,
      outdated: report.outdated + outdated.length,
      upgraded: report.upgraded + upgraded,
      failures,
      ...(cursor === undefined ? {} : { cursor }),
    };
    options.onProgress?.(report);
    if (rowsPerSecond !== undefined && cursor !== undefined) {
      const dueMs = beganMs + (report.upgraded / rowsPerSecond) * 1000;
      const leftMs = dueMs - clock.monotonicMs();
      if (leftMs > 0) await sleep(timers, leftMs, signal);
    }
    if (signal?.aborted === true) break;
  }
  return report;
}

function selectionOf<D extends AnyDefinition>(
  { definition, codec }: Entities<D>,
  partition: PartitionOf<D> | undefined,
): RowSelection {
  const { type, system } = definition;
  return {
    partitionKey: partition && codec.partitionKey(partition),
    where:
      system.type === undefined
        ? undefined
        : whereStored(system.type, 'eq', { type: 'String', value: type }),
  };
}

type Failed = (failure: UnreadableRow) => void;

/** The write of an outdated row in the new form; empty for any other. */
function outdatedOf<D extends AnyDefinition>(
  { codec, definition }: Entities<D>,
  row: StoredRow,
  fail: Failed,
): readonly PutWrite[] {
  try {
    const entity = codec.fromRow(row);
    if (entity[storedAs].version >= definition.version) return [];
    // The definition may be unable to store the entity that an upgrade has made.
    return [writesOf(definition).replace(entity)];
  } catch (error) {
    if (!(error instanceof ModelError)) throw error;
    fail({ partitionKey: row.partitionKey, rowKey: row.rowKey, error });
    return [];
  }
}

/** The number of entities written. */
async function storePage<D extends AnyDefinition>(
  entities: Entities<D>,
  outdated: readonly PutWrite[],
  { concurrency = concurrencyDefault, timers }: UpgradeOptions<D>,
  fail: Failed,
): Promise<number> {
  const report = await bulk(entities.table, outdated, {
    concurrency,
    ...(timers === undefined ? {} : { timers }),
  });
  const again = await inOrder(report.failures, concurrency, async ({ index, error }) => {
    const key = outdated[index]?.row;
    if (key === undefined || error === undefined) return false;
    return unlessUnstorable(key, fail, () => {
      if (!(error instanceof ConditionFailedError) && !isAmbiguous(error)) throw error;
      return storeLatest(entities, key);
    });
  });
  return report.applied + report.unchanged + again.filter(Boolean).length;
}

/** Reports an entity that cannot be stored. False when it was not stored or is gone. */
async function unlessUnstorable(
  { partitionKey, rowKey }: RowKey,
  fail: Failed,
  store: () => Promise<boolean>,
): Promise<boolean> {
  try {
    return await store();
  } catch (error) {
    if (error instanceof EntityNotFoundError) return false;
    if (!(error instanceof ModelError) || error instanceof ContentionError) throw error;
    fail({ partitionKey, rowKey, error });
    return false;
  }
}

/** Stores an entity as it is now. False when it is in the new form already. */
async function storeLatest<D extends AnyDefinition>(
  entities: Entities<D>,
  key: RowKey,
): Promise<boolean> {
  let isOld = false;
  await entities.update(entities.codec.parseKey(key), (current) => {
    isOld = current[storedAs].version < entities.definition.version;
    return isOld ? current : undefined;
  });
  return isOld;
}
