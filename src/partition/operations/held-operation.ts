import { GuardError } from '../../kv/errors.js';
import type { Check, Put } from '../../kv/store.js';
import type { Bytes } from '../../base/bytes.js';
import type { MemberStore } from '../../kv/member-store.js';
import { versioned } from '../catalogue.js';
import { guardKey, operationKey, rangeKey } from '../keys.js';
import {
  decodeGuardRow,
  encodeGuardRow,
  encodeOperationRow,
  encodeRangeRow,
  type GuardRow,
  type GuardState,
  type OperationRow,
  type RangeRow,
  type Versioned,
} from '../rows.js';
import { TakenOverError, type OperationTools } from './tools.js';

/** Others may take over an operation after this time without a renewal of its lease. */
const leaseMicros = 10_000_000;

/** The lease is renewed when less is left. */
const leaseLeftMicros = 5_000_000;

export function leaseFrom({ clock }: Pick<OperationTools, 'clock'>): number {
  return Math.max(0, clock.nowMicros()) + leaseMicros;
}

/**
 * An operation as the process knows it that carries it out. Every write depends on what is known:
 * the row of the operation, or a guard. When another process has taken over, writes are refused,
 * and the work ends with `TakenOverError`.
 */
export class HeldOperation<Row extends OperationRow> {
  readonly #tools: OperationTools;
  #held: Versioned<Row>;

  constructor(tools: OperationTools, held: Versioned<Row>) {
    this.#tools = tools;
    this.#held = held;
  }

  get row(): Row {
    return this.#held.row;
  }

  /** The catalogue still has the row that is known here. */
  get check(): Check {
    return { key: operationKey(this.row.id), version: this.#held.version };
  }

  /**
   * A commit of the catalogue that writes the row, and what comes with it. False when a check that
   * came with it fails.
   */
  async advance(
    row: Row,
    more: { readonly checks?: readonly Check[]; readonly puts?: readonly Put[] } = {},
  ): Promise<boolean> {
    const next: Row = { ...row, leaseUntil: leaseFrom(this.#tools) };
    const put = { key: operationKey(row.id), value: encodeOperationRow(next) };
    const { checks = [], puts = [] } = more;
    const commit = { checks: [this.check, ...checks], puts: [put, ...puts] };
    const result = await this.#tools.catalogue.commit(commit);
    if (!result.ok && result.failedCheck === 0) throw this.takenOver();
    if (!result.ok) return false;
    this.#held = { row: next, version: result.version };
    return true;
  }

  /** Between two pages of long work: keeps the lease, and lets other work of the process go on. */
  async betweenPages(): Promise<void> {
    await this.renew();
    await this.#tools.giveWay?.();
  }

  /**
   * The last commit: the row goes, and other rows of the catalogue change with it. False when a
   * check that came with it fails.
   */
  async finish(
    checks: readonly Check[],
    puts: readonly Put[],
    deletes: readonly Bytes[] = [],
  ): Promise<boolean> {
    const { check } = this;
    const result = await this.#tools.catalogue.commit({
      checks: [check, ...checks],
      puts,
      deletes: [check.key, ...deletes],
    });
    if (!result.ok && result.failedCheck === 0) throw this.takenOver();
    return result.ok;
  }

  /** A guarded call of the operation: when its guard has changed, another process was here. */
  async guarded<Result>(call: Promise<Result>): Promise<Result> {
    try {
      return await call;
    } catch (error) {
      throw error instanceof GuardError ? this.takenOver() : error;
    }
  }

  /** Long steps show that they live; a process that was replaced ends here. */
  async renew(): Promise<void> {
    const { row } = this.#held;
    const nowMicros = this.#tools.clock.nowMicros();
    if (row.leaseUntil - nowMicros > leaseLeftMicros) return;
    await this.advance(row);
  }

  takenOver(): TakenOverError {
    return new TakenOverError(this.row.id);
  }
}

export async function readGuard(
  store: MemberStore,
  range: number,
): Promise<Versioned<GuardRow> | undefined> {
  return versioned(await store.get(guardKey(range)), decodeGuardRow);
}

/**
 * Guards are written by fences only, so that no earlier call of a front end applies afterwards, and
 * so that the version exceeds those of all its commits. Undefined when `before` is not there.
 */
export async function writeGuard(
  store: MemberStore,
  range: number,
  change: {
    readonly before: number | 'absent';
    readonly row: GuardRow;
    readonly deletes?: readonly Bytes[];
  },
): Promise<Versioned<GuardRow> | undefined> {
  const key = guardKey(range);
  const result = await store.fence({
    checks: [{ key, version: change.before }],
    puts: [{ key, value: encodeGuardRow(change.row) }],
    deletes: change.deletes ?? [],
  });
  return result.ok ? { row: change.row, version: result.version } : undefined;
}

/**
 * Gives the guard of a range the token of the operation, so that writes of every process before it
 * are refused. The state stays. Undefined where there is no guard.
 */
export async function takeGuard(
  store: MemberStore,
  range: number,
  held: HeldOperation<OperationRow>,
): Promise<Versioned<GuardRow> | undefined> {
  const { id, token } = held.row;
  for (;;) {
    const guard = await readGuard(store, range);
    if (guard === undefined) return undefined;
    const { operation, token: written } = guard.row;
    if (operation === id && written === token) return guard;
    if (operation > id || (operation === id && written > token)) throw held.takenOver();
    const row = { ...guard.row, operation: id, token };
    const taken = await writeGuard(store, range, { before: guard.version, row });
    if (taken !== undefined) return taken;
  }
}

/**
 * The guard of a range, in one of the states that a step may find. Ends with `TakenOverError` when
 * another process has written it.
 */
export async function ownGuard(
  store: MemberStore,
  range: number,
  held: HeldOperation<OperationRow>,
  states: readonly GuardState[],
): Promise<Versioned<GuardRow>> {
  const guard = await readGuard(store, range);
  if (guard === undefined || !states.includes(guard.row.state)) throw held.takenOver();
  assertOwn(guard, held);
  return guard;
}

export function assertOwn(
  { row: { operation, token } }: Versioned<GuardRow>,
  held: HeldOperation<OperationRow>,
): void {
  if (operation !== held.row.id || token !== held.row.token) throw held.takenOver();
}

/** Gives a guard that this process has written another state. */
export async function changeGuard(
  store: MemberStore,
  range: RangeRow,
  held: HeldOperation<OperationRow>,
  change: { readonly before: Versioned<GuardRow>; readonly state: GuardState },
): Promise<Versioned<GuardRow>> {
  const { id: operation, token } = held.row;
  const row = { state: change.state, epoch: range.epoch, operation, token };
  const written = await writeGuard(store, range.id, { before: change.before.version, row });
  if (written === undefined) throw held.takenOver();
  return written;
}

/** The row of a range that the operation works on. */
export async function heldRange(
  { catalogue }: OperationTools,
  held: HeldOperation<OperationRow>,
  id: number,
): Promise<Versioned<RangeRow>> {
  const found = await catalogue.range(id);
  if (found?.row.operation !== held.row.id) throw held.takenOver();
  return found;
}

/** The end of an operation on one range: others may begin. */
export async function releaseRange(
  tools: OperationTools,
  held: HeldOperation<OperationRow>,
  range: number,
): Promise<void> {
  const { row, version } = await heldRange(tools, held, range);
  const key = rangeKey(row.id);
  const atRest = { key, value: encodeRangeRow({ ...row, operation: 0 }) };
  if (!(await held.finish([{ key, version }], [atRest]))) throw held.takenOver();
}
