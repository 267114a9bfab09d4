import { systemClock, type Clock } from '../../../base/clock.js';
import type { AnyDefinition } from '../../definition/entity-definition.js';
import { reservedPartitionKeys } from '../../definition/reserved-keys.js';
import { escapeKeyText } from '../../definition/key-escape.js';
import {
  before,
  checkPeriod,
  checkRetention,
  keptUntil,
  nextPeriod,
  periodStart,
  type Period,
  type Retention,
} from '../../rows/period.js';
import { countIn, storedText, textIn } from '../../rows/row-parts.js';
import type { Row, RowKey } from '../../rows/row.js';
import { dateOfTicks, ticksOfMicros } from '../../rows/ticks.js';
import { DefinitionError } from '../../rows/model-error.js';
import { retryConflicts } from '../../table/contention.js';
import { putOver } from '../../table/conditional-write.js';
import type { TableGateway } from '../../table/gateway.js';
import type { TableScan } from '../../table/query-plan.js';
import { archiveEntities, type ArchiveOptions, type ArchiveReport } from './archive.js';

export interface ArchiveSchedule<S extends AnyDefinition, A extends AnyDefinition> extends Omit<
  ArchiveOptions<S, A>,
  'query'
> {
  /** Names the schedule in its row. */
  readonly name: string;
  /** The table in which the progress of the archive is stored; it may be a table of entities. */
  readonly control: TableGateway;
  /** The unit of archiving: whole periods, such as months. */
  readonly period: Period;
  /** How long entities stay after the end of their period. */
  readonly keep: Retention;
  /** Everything before a moment: `(moment) => ({ where: (p) => p.at.lt(moment) })`. */
  readonly queryBefore: (moment: Date) => TableScan<S>;
  /** The system's when absent. */
  readonly clock?: Clock;
}

export interface ScheduledArchive extends ArchiveReport {
  /** Everything before this time is in the archive, except the entities counted by `changed`. */
  readonly through: Date;
  /** When the next call will find work; now, when entities have changed meanwhile. */
  readonly next: Date;
}

const { archiveSchedule: partitionKey } = reservedPartitionKeys;
const rowType = 'ArchiveSchedule';

/**
 * Archives the periods that have ended long enough ago, and does nothing while there are none: for
 * a timer that calls it every hour. It may be interrupted at any moment and called again, also by
 * several programs at once. A point read, and when a period is due the requests of
 * `archiveEntities` and a write. Entities that arrive later for an archived period are archived
 * with the next one. Throws `DefinitionError` for an invalid schedule.
 */
export async function archiveDue<S extends AnyDefinition, A extends AnyDefinition>(
  schedule: ArchiveSchedule<S, A>,
): Promise<ScheduledArchive> {
  const { name, control, period, keep, queryBefore, clock = systemClock } = schedule;
  if (name === '') throw new DefinitionError('a schedule of an archive needs a name');
  checkPeriod(period);
  checkRetention(keep);
  const now = ticksOfMicros(clock.nowMicros());
  const through = periodStart(period, before(keep, now));
  const next = dateOfTicks(keptUntil(keep, nextPeriod(period, through)));
  const done = (await noted(control, name))?.through;
  if (done !== undefined && done >= through) {
    return Object.freeze({ archived: 0, changed: 0, through: dateOfTicks(done), next });
  }
  const moment = dateOfTicks(through);
  const report = await archiveEntities({ ...schedule, query: queryBefore(moment) });
  const isDone = report.changed === 0;
  if (isDone) await note(control, name, through);
  return Object.freeze({ ...report, through: moment, next: isDone ? next : dateOfTicks(now) });
}

function keyOf(name: string): RowKey {
  return { partitionKey, rowKey: escapeKeyText(name, '') };
}

interface Noted {
  readonly through: bigint;
  readonly etag: string;
}

async function noted(control: TableGateway, name: string): Promise<Noted | undefined> {
  const row = await control.get(keyOf(name));
  if (row === undefined || textIn(row.properties, 'EntityType') !== rowType) return undefined;
  return { through: countIn(row.properties, 'Through'), etag: row.etag };
}

/** Another program may have stored a later progress, which is kept. */
function note(control: TableGateway, name: string, through: bigint): Promise<void> {
  return retryConflicts(`the schedule '${name}'`, {}, async () => {
    const found = await noted(control, name);
    if (found !== undefined && found.through >= through) return;
    const row: Row = {
      ...keyOf(name),
      properties: { EntityType: storedText(rowType), Through: { type: 'Int64', value: through } },
    };
    await control.write(putOver(row, found?.etag));
  });
}
