import { sleep } from '../../../base/async/sleep.js';
import type { Timers } from '../../../base/async/timers.js';
import type { Clock } from '../../../base/clock.js';
import { requireChoice } from '../../definition/choice.js';
import { TableNotFoundError } from '../../table/errors.js';
import type { RowQuery, RowWrite, TableGateway } from '../../table/gateway.js';
import type { RowKey } from '../../rows/row.js';
import { ManagerError, ShardClosedError } from './manager-errors.js';
import type { ManagerRow, ManagerRows, Texts } from './manager-rows.js';

/**
 * `read-only`: programs read. `offline`: they do neither. `detached`: as `offline`, and the shard
 * is compared with the maps before it is online again.
 */
export type ShardStatus = 'online' | 'read-only' | 'offline' | 'detached';

/** Whether programs read there. Such a shard has all tables of the maps. */
export function isServing(status: ShardStatus): boolean {
  return status === 'online' || status === 'read-only';
}

/** A shard as it is registered. */
export interface ShardInfo {
  readonly name: string;
  readonly status: ShardStatus;
  /** Empty when none was said. */
  readonly region: string;
  /** The criticalities of what it holds, by which it is backed up; empty when none was said. */
  readonly holds: readonly string[];
}

export type ShardChange = Partial<Omit<ShardInfo, 'name'>>;

/** A shard, and what maps have there. */
export interface ShardDescription extends ShardInfo {
  readonly maps: readonly {
    readonly map: string;
    readonly tables: readonly string[];
    readonly schemaVersion: number;
  }[];
  /** When its last backup began; undefined: there was none. */
  readonly backedUpAt: Date | undefined;
}

/** As what a shard can be. */
export function requireStatus({ status }: ShardChange): void {
  requireChoice('status', status, statuses);
}

const statuses: readonly string[] = [
  'online',
  'read-only',
  'offline',
  'detached',
] satisfies readonly ShardStatus[];

function isStatus(text: string): text is ShardStatus {
  return statuses.includes(text);
}

export function shardInfo({ name, texts }: ManagerRow): ShardInfo {
  const { Status: status = '', Region: region = '' } = texts;
  const holds: unknown = JSON.parse(texts['Holds'] ?? '[]');
  if (!Array.isArray(holds)) throw new ManagerError(`the row of the shard '${name}' holds nothing`);
  const texted = holds.filter((each) => typeof each === 'string');
  if (isStatus(status)) return Object.freeze({ name, status, region, holds: texted });
  throw new ManagerError(`the row of the shard '${name}' has the status '${status}'`);
}

/** As it is stored. */
export function textsOfShard({ status, region, holds }: Omit<ShardInfo, 'name'>): Texts {
  return { Status: status, Region: region, Holds: JSON.stringify(holds) };
}

/** Throws `ManagerError` for a detached shard that is to be anything else. */
export function refuseDetached({ name, status }: ShardInfo, change: ShardChange): void {
  if (status !== 'detached' || (change.status ?? status) === status) return;
  throw new ManagerError(
    `the shard '${name}' is detached: attach it, which compares it with all maps`,
  );
}

export interface ShardStatusesOptions {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly refreshMs: number;
}

/** What programs may do with shards, as it was at most `refreshMs` ago. */
export class ShardStatuses {
  readonly #rows: ManagerRows;
  readonly #options: ShardStatusesOptions;
  #known: { readonly shards: ReadonlyMap<string, ShardStatus>; readonly atMs: number } | undefined;

  constructor(rows: ManagerRows, options: ShardStatusesOptions) {
    this.#rows = rows;
    this.#options = options;
  }

  /** Waits as long as other programs may take a shard to be as it was before this call. */
  async untilFollowed(): Promise<void> {
    const { timers, refreshMs } = this.#options;
    if (refreshMs > 0) await sleep(timers, refreshMs);
  }

  /** Reads the rows again with the next question. */
  forget(): void {
    this.#known = undefined;
  }

  /** Throws `ShardClosedError` where the status forbids it. A range read each `refreshMs`. */
  async allow(shard: string, use: 'read' | 'write'): Promise<void> {
    const status = (await this.#shards()).get(shard) ?? 'detached';
    if (status === 'online' || (status === 'read-only' && use === 'read')) return;
    const hint = status === 'detached' ? 'attach it' : 'set it online';
    throw new ShardClosedError(`the shard '${shard}' is ${status}; try again, or ${hint}`, shard);
  }

  async #shards(): Promise<ReadonlyMap<string, ShardStatus>> {
    const { clock, refreshMs } = this.#options;
    const atMs = clock.monotonicMs();
    const known = this.#known;
    if (known !== undefined && atMs - known.atMs < refreshMs) return known.shards;
    const infos = (await this.#rows.listReachable('shard')).map(shardInfo);
    const shards = new Map(infos.map(({ name, status }) => [name, status]));
    this.#known = { shards, atMs };
    return shards;
  }
}

/** A table each of whose requests is sent after `allow`, and is not when that throws. */
export function guardedTable(
  table: TableGateway,
  allow: (use: 'read' | 'write') => Promise<void>,
): TableGateway {
  const guarded = async <R>(use: 'read' | 'write', send: () => Promise<R>): Promise<R> => {
    await allow(use);
    return send();
  };
  return {
    table: table.table,
    encrypts: table.encrypts,
    storesLargeValues: table.storesLargeValues,
    writesMax: table.writesMax,
    get: (key: RowKey, select?: readonly string[]) => guarded('read', () => table.get(key, select)),
    page: (query: RowQuery) => guarded('read', () => table.page(query)),
    write: (write: RowWrite) => guarded('write', () => table.write(write)),
    transact: (writes: readonly RowWrite[]) => guarded('write', () => table.transact(writes)),
  };
}

/**
 * A table of a location, which reads as empty when there is none and `mayBeAbsent` says that there
 * need not be.
 */
export function tableOfLocation(
  table: TableGateway,
  mayBeAbsent: () => Promise<boolean>,
): TableGateway {
  const orWhenTableIsAbsent = async <R>(send: () => Promise<R>, empty: R): Promise<R> => {
    try {
      return await send();
    } catch (error) {
      if (!(error instanceof TableNotFoundError) || !(await mayBeAbsent())) throw error;
      return empty;
    }
  };
  return {
    table: table.table,
    encrypts: table.encrypts,
    storesLargeValues: table.storesLargeValues,
    writesMax: table.writesMax,
    get: (key: RowKey, select?: readonly string[]) =>
      orWhenTableIsAbsent(() => table.get(key, select), undefined),
    page: (query: RowQuery) => orWhenTableIsAbsent(() => table.page(query), { rows: [] }),
    write: (write: RowWrite) => table.write(write),
    transact: (writes: readonly RowWrite[]) => table.transact(writes),
  };
}
