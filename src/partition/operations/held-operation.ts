import { GuardError } from '../../kv/errors.js';
import type { Check, Put } from '../../kv/store.js';
import type { Bytes } from '../../base/bytes.js';
import { versioned } from '../catalogue.js';
import { guardKey, operationKey, rangeKey } from '../keys.js';
import { answeringMember, type AskedMember } from '../reach.js';
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
 * An operation in the process that carries it out. Each of its writes demands that a row or a guard
 * still is as the process knows it. So once another process has taken over, every write is refused,
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

  /** Demands that the row of the operation is still the one that this process knows. */
  get check(): Check {
    return { key: operationKey(this.row.id), version: this.#held.version };
  }

  /**
   * Writes the row of the operation, together with other rows of the catalogue. False when one of
   * the given checks fails. Throws `TakenOverError`.
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

  /**
   * To be called between two pages of long work: renews the lease, and yields to other work of the
   * process.
   */
  async betweenPages(): Promise<void> {
    await this.renew();
    await this.#tools.giveWay?.();
  }

  /** To be called when a page of keys was deleted, with their number; as `betweenPages`. */
  afterDeletion(keys: number): Promise<void> {
    this.#tools.onDeleted?.(keys);
    return this.betweenPages();
  }

  /**
   * The last commit of the operation: deletes its row, together with changes of other rows of the
   * catalogue. False when one of the given checks fails. Throws `TakenOverError`.
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

  /**
   * Awaits a guarded call. A refused guard means that another process has taken over: throws
   * `TakenOverError`.
   */
  async guarded<Result>(call: Promise<Result>): Promise<Result> {
    try {
      return await call;
    } catch (error) {
      throw error instanceof GuardError ? this.takenOver() : error;
    }
  }

  /**
   * Renews the lease when little of it is left. Throws `TakenOverError` when another process has
   * taken over.
   */
  async renew(): Promise<void> {
    const { row } = this.#held;
    const nowMicros = this.#tools.clock.nowMicros();
    if (row.leaseUntil - nowMicros > leaseLeftMicros) return;
    await this.advance(row);
  }

  /**
   * Reads the row again after a commit of `advance` whose outcome is unknown. False when another
   * process has the operation, or it is over.
   */
  async reread(isOfKind: (row: OperationRow) => row is Row): Promise<boolean> {
    const found = await this.#tools.catalogue.operation(this.row.id);
    if (found === undefined || !isOfKind(found.row)) return false;
    if (found.row.token !== this.row.token) return false;
    this.#held = { row: found.row, version: found.version };
    return true;
  }

  takenOver(): TakenOverError {
    return new TakenOverError(this.row.id);
  }
}

export async function readGuard(
  store: AskedMember,
  range: number,
): Promise<Versioned<GuardRow> | undefined> {
  return versioned(await store.get(guardKey(range)), decodeGuardRow);
}

/**
 * Writes a guard, always by a fence: no call that relied on the former guard is applied afterwards,
 * and the version exceeds those of all such calls. Undefined when the guard is not as `before`
 * says.
 */
export async function writeGuard(
  store: AskedMember,
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
 * Writes the token of the operation into the guard of a range, so that all processes that had the
 * operation before are refused. The state of the guard stays. Undefined when there is no guard.
 * Rejects with `StoreUnavailableError` when the store is silent.
 */
export async function takeGuard(
  { members, timers }: Pick<OperationTools, 'members' | 'timers'>,
  held: HeldOperation<OperationRow>,
  { store: name, range }: { readonly store: string; readonly range: number },
): Promise<Versioned<GuardRow> | undefined> {
  const { id, token } = held.row;
  const store = answeringMember({ members, timers }, name);
  for (;;) {
    const guard = await readGuard(store, range);
    if (guard === undefined) return undefined;
    const { operation, token: written } = guard.row;
    if (isOwn(guard, held)) return guard;
    if (operation > id || (operation === id && written > token)) throw held.takenOver();
    const row = { ...guard.row, operation: id, token };
    const taken = await writeGuard(store, range, { before: guard.version, row });
    if (taken !== undefined) return taken;
  }
}

/**
 * As `takeGuard`; then confirms that this process still has the operation, and throws
 * `TakenOverError` when it does not. A guard alone does not tell that: where it shows an older
 * operation, it can be taken also by a process whose own operation has ended.
 */
export async function takeGuardInTime(
  tools: Pick<OperationTools, 'members' | 'timers'>,
  held: HeldOperation<OperationRow>,
  at: { readonly store: string; readonly range: number },
): Promise<Versioned<GuardRow> | undefined> {
  const guard = await takeGuard(tools, held, at);
  if (guard !== undefined) await held.advance(held.row);
  return guard;
}

/**
 * Reads the guard of a range, which must be in one of the given states and written by this process.
 * Throws `TakenOverError` otherwise.
 */
export async function ownGuard(
  store: AskedMember,
  range: number,
  held: HeldOperation<OperationRow>,
  states: readonly GuardState[],
): Promise<Versioned<GuardRow>> {
  const guard = await readGuard(store, range);
  if (guard === undefined || !states.includes(guard.row.state)) throw held.takenOver();
  assertOwn(guard, held);
  return guard;
}

/** Whether this process has written a guard, since it has the operation. */
export function isOwn(
  { row: { operation, token } }: Versioned<GuardRow>,
  held: HeldOperation<OperationRow>,
): boolean {
  return operation === held.row.id && token === held.row.token;
}

export function assertOwn(guard: Versioned<GuardRow>, held: HeldOperation<OperationRow>): void {
  if (!isOwn(guard, held)) throw held.takenOver();
}

/** Changes the state of a guard that this process has written. */
export async function changeGuard(
  store: AskedMember,
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

/** Ends an operation on one range, so that other operations on it may begin. */
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
