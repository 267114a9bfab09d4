import { compareBytes, equalBytes, type Bytes } from '../../base/bytes.js';
import { partitionPrefixElements } from '../../kv/partition-prefix.js';
import { StoreUnavailableError } from '../../kv/errors.js';
import type { Check, Put } from '../../kv/store.js';
import { elementEnd } from '../../kv/tuple.js';
import { mapKey, operationKey, rangeKey, storeRowKey } from '../keys.js';
import { operationsMax, rangesMax } from '../limits.js';
import { isMember } from '../membership.js';
import { dataOf } from '../range-map.js';
import { answeringMember, SilentStoreError, type AskedMember } from '../reach.js';
import {
  encodeMapRow,
  encodeOperationRow,
  encodeRangeRow,
  newRangesOf,
  type BackupRow,
  type MergeRow,
  type MoveRow,
  type OperationRow,
  type RangeRow,
  type RestoreRow,
  type SplitRow,
  type StoreRow,
  type Versioned,
} from '../rows.js';
import { merge, split } from './divide.js';
import { HeldOperation, leaseFrom, readGuard } from './held-operation.js';
import { missingMember } from './missing-member.js';
import { Mover } from './move.js';
import { backUp, undoBackup } from './back-up.js';
import { restore, undoRestore, type RestoreSource } from './restore.js';
import { withdraw, type LateBegin } from './withdraw.js';
import {
  TakenOverError,
  TargetNotEmptiedError,
  UndoneError,
  type OperationTools,
  type OperationEnd,
} from './tools.js';

/** Why an operation does not begin. Nothing was changed. */
export type Refusal =
  | 'no such range'
  | 'no such store'
  | 'location mismatch'
  | 'the store is away'
  | 'the range is busy'
  | 'the range is there already'
  | 'not a boundary of partitions'
  | 'outside of the range'
  | 'not neighbours'
  | 'stays in the home store'
  | 'the store is draining'
  | 'the range has entries'
  | 'the store has the range'
  | 'nobody serves the range'
  | 'too many ranges'
  | 'too many operations'
  | 'on different stores';

export type BeginResult =
  /** `newRanges`: those that the operation makes, by number. */
  | { readonly ok: true; readonly operation: number; readonly newRanges: readonly number[] }
  | { readonly ok: false; readonly refusal: Refusal };

/** Begins operations, and carries them out. */
export type RangeOperations = Pick<
  Operations,
  'beginSplit' | 'beginMerge' | 'beginMove' | 'carryOut'
>;

/** The number of ids that an operation reserves: its own, and those of two new ranges. */
const idsEach = 3;

/** Makes the row of a new operation from the ids that it may use. */
type NewOperation = (ids: readonly [number, number, number], lease: number) => OperationRow;

/**
 * Splits, merges and moves ranges. An operation exists from the commit of its row in the catalogue
 * on. Any process carries it out, and another one may take over at any time.
 */
export class Operations {
  readonly #tools: OperationTools;

  constructor(tools: OperationTools) {
    this.#tools = tools;
  }

  /** Begins a move, which `carryOut` carries out. */
  async beginMove(range: number, target: string): Promise<BeginResult> {
    const found = await this.#tools.catalogue.range(range);
    if (found === undefined) return refused('no such range');
    const known = await this.#store(target);
    if (typeof known === 'string') return refused(known);
    if (found.row.store === target) return refused('the range is there already');
    if (this.#tools.members.isBound(found.row)) return refused('stays in the home store');
    if (known.row.state === 'draining') return refused('the store is draining');
    const source = found.row.store;
    const create: NewOperation = ([id], leaseUntil): MoveRow => {
      const head = { kind: 'move', id, token: 1, leaseUntil, step: 'prepare' } as const;
      return { ...head, range, source, target, floor: 0 };
    };
    return this.#begin([found], create, { key: storeRowKey(target), version: known.version });
  }

  /**
   * Begins the deletion of what a store has of a range that another store serves; `carryOut`
   * deletes it.
   */
  async beginDiscard(range: number, store: string): Promise<BeginResult> {
    const found = await this.#tools.catalogue.range(range);
    if (found === undefined) return refused('no such range');
    const known = await this.#store(store);
    if (typeof known === 'string') return refused(known);
    const source = found.row.store;
    if (source === store) return refused('the store has the range');
    const guard = await readGuard(answeringMember(this.#tools, source), range);
    if (found.row.operation === 0 && guard?.row.state !== 'serving') {
      return refused('nobody serves the range');
    }
    const create: NewOperation = ([id], leaseUntil): MoveRow => {
      const head = { kind: 'move', id, token: 1, leaseUntil, step: 'discard' } as const;
      return { ...head, range, source, target: store, floor: 0 };
    };
    return this.#begin([found], create, { key: storeRowKey(store), version: known.version });
  }

  /**
   * `at`: the first key of the right half: a partition prefix, or the beginning of one, before the
   * keys of the store itself.
   */
  async beginSplit(range: number, at: Bytes): Promise<BeginResult> {
    const found = await this.#tools.catalogue.range(range);
    if (found === undefined) return refused('no such range');
    if (!isBoundary(at)) return refused('not a boundary of partitions');
    const { start, end } = dataOf(found.row);
    const isInside = compareBytes(at, start) > 0 && compareBytes(at, end) < 0;
    if (!isInside) return refused('outside of the range');
    const { catalogue, limits } = this.#tools;
    const { ranges } = await catalogue.map();
    if (ranges.length >= (limits?.rangesMax ?? rangesMax)) return refused('too many ranges');
    return this.#begin([found], ([id, left, right], leaseUntil): SplitRow => {
      return { kind: 'split', id, token: 1, leaseUntil, range, at, left, right };
    });
  }

  async beginMerge(left: number, right: number): Promise<BeginResult> {
    const first = await this.#tools.catalogue.range(left);
    const second = await this.#tools.catalogue.range(right);
    if (first === undefined || second === undefined) return refused('no such range');
    const { end } = first.row;
    const meet = end !== undefined && equalBytes(end, second.row.start);
    if (!meet) return refused('not neighbours');
    if (first.row.store !== second.row.store) return refused('on different stores');
    const { members } = this.#tools;
    if (members.isBound(first.row) !== members.isBound(second.row)) {
      return refused('stays in the home store');
    }
    return this.#begin([first, second], ([id, into], leaseUntil): MergeRow => {
      return { kind: 'merge', id, token: 1, leaseUntil, left, right, into };
    });
  }

  /** Begins a backup of a range, which `backUp` carries out. */
  async beginBackup(range: number): Promise<BeginResult> {
    const found = await this.#tools.catalogue.range(range);
    if (found === undefined) return refused('no such range');
    // Commits with a guard of their own leave no dirty rows, so a backup would miss their writes.
    if (this.#tools.members.isBound(found.row)) return refused('stays in the home store');
    return this.#begin([found], ([id], leaseUntil): BackupRow => {
      return { kind: 'backup', id, token: 1, leaseUntil, range };
    });
  }

  /** Begins a restore into an empty range, which `restore` carries out. */
  async beginRestore(range: number): Promise<BeginResult> {
    const { catalogue, members } = this.#tools;
    const found = await catalogue.range(range);
    if (found === undefined) return refused('no such range');
    if (members.isBound(found.row)) return refused('stays in the home store');
    const store = answeringMember(this.#tools, found.row.store);
    const { entries } = await store.range(dataOf(found.row), { limit: 1, bytesMax: 1 });
    if (entries.length > 0) return refused('the range has entries');
    return this.#begin([found], ([id], leaseUntil): RestoreRow => {
      return { kind: 'restore', id, token: 1, leaseUntil, range };
    });
  }

  /**
   * Copies the range of a backup as it is at one moment. Throws `UndoneError` when it is cancelled.
   */
  async backUp(operation: number, target: AskedMember): Promise<void> {
    const held = await this.#take(operation, (row) => row);
    if (held === undefined || !isOf(held, 'backup')) throw new TakenOverError(operation);
    await this.#alone(held, () => backUp(this.#tools, held, target));
  }

  /**
   * Writes the entries of a backup into the range of a restore. Later versions there exceed
   * `floor`. Throws `UndoneError` when it is cancelled.
   */
  async restore(operation: number, from: RestoreSource): Promise<void> {
    const held = await this.#take(operation, (row) => row);
    if (held === undefined || !isOf(held, 'restore')) throw new TakenOverError(operation);
    await this.#alone(held, () => restore(this.#tools, held, from));
  }

  /**
   * Takes over an operation and finishes it; undefined when it is finished already. From then on
   * processes that had it before are refused. Throws `StoreNotOpenError` or
   * `StoreLocationMismatchError` when a store of it is missing here. Then it has not taken the
   * operation over, unless to make a source serve again.
   */
  async carryOut(operation: number): Promise<OperationEnd | undefined> {
    const found = await this.#tools.catalogue.operation(operation);
    const missing = found && (await missingMember(this.#tools, found.row));
    if (missing !== undefined) throw missing;
    const held = await this.#take(operation, (row) => row);
    return held && this.#finish(held);
  }

  /**
   * Undoes a backup, a restore, or a move before its switch. False for a split or a merge, for a
   * move that has switched, and for an operation that is finished. When the target of a move is
   * away, its source serves as before, and the operation stays until a process that takes it over
   * has emptied the target. A target that serves the range as well is left as it is: `verify` tells
   * of it. The error for a silent store says what happens all the same.
   */
  async cancel(operation: number): Promise<boolean> {
    const taken = this.#take(operation, (row) => {
      if (row.kind === 'backup' || row.kind === 'restore') return row;
      if (row.kind !== 'move' || row.step === 'activate' || row.step === 'clean') return undefined;
      return { ...row, step: 'cancel' };
    });
    const held = await taken.catch((error: unknown) => {
      if (!(error instanceof SilentStoreError && error.writes)) throw error;
      throw error.saying(
        `Operation ${operation} may be cancelled all the same when that store answers: tabularium ` +
          'partition list shows whether it is.',
      );
    });
    if (held === undefined) return false;
    try {
      await this.#finish(held);
    } catch (error) {
      if (error instanceof SilentStoreError) throw error.saying(stillUndone(held.row));
      if (!(error instanceof TargetNotEmptiedError)) throw error;
    }
    return true;
  }

  /**
   * Returns the row of a store in which an operation may write, or the reason why it may not.
   * Another process may have removed a store that is open here, and its location may have other
   * data by now.
   */
  async #store(name: string): Promise<Versioned<StoreRow> | Refusal> {
    const { catalogue, members, timers } = this.#tools;
    const known = members.has(name) ? await catalogue.store(name) : undefined;
    if (known === undefined) return 'no such store';
    try {
      const isSame = await isMember(members, name, timers);
      return isSame ? known : 'location mismatch';
    } catch (error) {
      const isOther = error instanceof SilentStoreError && error.store !== name;
      if (error instanceof StoreUnavailableError && !isOther) return 'the store is away';
      throw error;
    }
  }

  async #begin(
    ranges: readonly Versioned<RangeRow>[],
    create: NewOperation,
    ofTarget?: Check,
  ): Promise<BeginResult> {
    const { catalogue, limits } = this.#tools;
    for (;;) {
      if (ranges.some(({ row }) => row.operation !== 0)) return refused('the range is busy');
      const map = await catalogue.mapRow();
      // The commit below checks the row of the map, which every operation changes that begins
      // meanwhile.
      const running = (await catalogue.operations()).length;
      if (running >= (limits?.operationsMax ?? operationsMax))
        return refused('too many operations');
      const { nextId } = map.row;
      const row = create([nextId, nextId + 1, nextId + 2], leaseFrom(this.#tools));
      const held = ranges.map(({ row: range }): Put => {
        const value = encodeRangeRow({ ...range, operation: row.id });
        return { key: rangeKey(range.id), value };
      });
      const begun = catalogue.commit({
        checks: [
          { key: mapKey, version: map.version },
          ...ranges.map(({ row: { id }, version }) => ({ key: rangeKey(id), version })),
          ...(ofTarget === undefined ? [] : [ofTarget]),
        ],
        puts: [
          { key: mapKey, value: encodeMapRow({ ...map.row, nextId: nextId + idsEach }) },
          { key: operationKey(row.id), value: encodeOperationRow(row) },
          ...held,
        ],
      });
      const result = await begun.catch((error: unknown) => this.#notBegun(row, ranges, error));
      if (result.ok) return { ok: true, operation: row.id, newRanges: newRangesOf(row) };
      // The row of the map has changed because another operation reserved ids: try again. A changed
      // range is busy with another operation.
      if (result.failedCheck > ranges.length) return refused('no such store');
      if (result.failedCheck > 0) return refused('the range is busy');
    }
  }

  /** Throws the error of the commit that was to begin an operation. */
  #notBegun(row: OperationRow, ranges: readonly Versioned<RangeRow>[], error: unknown): never {
    if (!(error instanceof SilentStoreError)) throw error;
    const begin = { row, ranges: ranges.map((range) => range.row), result: error.late };
    // When this fails, the operation goes on, and the list of partitions has it.
    this.#withdraw(begin).catch(() => undefined);
    throw error.saying(
      `Operation ${row.id} has not begun. Should that store begin it later all the same, this ` +
        'process ends it then, if it still runs: tabularium partition list shows whether it goes on.',
    );
  }

  async #withdraw(begin: LateBegin): Promise<void> {
    const outcome = await withdraw(this.#tools.members, begin);
    if (outcome === 'taken') await this.cancel(begin.row.id);
  }

  /**
   * Takes the operation over: writes its row with the next token. Undefined when there is no row,
   * or `change` returns none.
   */
  async #take(
    operation: number,
    change: (row: OperationRow) => OperationRow | undefined,
  ): Promise<HeldOperation<OperationRow> | undefined> {
    const { catalogue } = this.#tools;
    for (;;) {
      const found = await catalogue.operation(operation);
      const changed = found && change(found.row);
      if (found === undefined || changed === undefined) return undefined;
      const leaseUntil = leaseFrom(this.#tools);
      const row: OperationRow = { ...changed, token: found.row.token + 1, leaseUntil };
      const key = operationKey(operation);
      const result = await catalogue.commit({
        checks: [{ key, version: found.version }],
        puts: [{ key, value: encodeOperationRow(row) }],
      });
      if (result.ok) return new HeldOperation(this.#tools, { row, version: result.version });
    }
  }

  #finish(held: HeldOperation<OperationRow>): Promise<OperationEnd> {
    return this.#counted(held, () => this.#end(held));
  }

  /** Does what only the process that began it can do: any other one undoes it. */
  async #alone(
    held: HeldOperation<BackupRow> | HeldOperation<RestoreRow>,
    work: () => Promise<void>,
  ): Promise<void> {
    try {
      await this.#counted(held, async () => {
        await work();
        return 'done';
      });
    } catch (error) {
      throw error instanceof TakenOverError ? new UndoneError(held.row) : error;
    }
  }

  async #counted(
    held: HeldOperation<OperationRow>,
    work: () => Promise<OperationEnd>,
  ): Promise<OperationEnd> {
    const { counters } = this.#tools;
    try {
      const end = await work();
      counters?.noteEnd(held.row.kind, end);
      return end;
    } catch (error) {
      counters?.noteEnd(held.row.kind, error instanceof TakenOverError ? 'taken over' : 'failed');
      throw error;
    }
  }

  async #end(held: HeldOperation<OperationRow>): Promise<OperationEnd> {
    if (isOf(held, 'split')) await split(this.#tools, held);
    if (isOf(held, 'merge')) await merge(this.#tools, held);
    // Only the process that began a backup knows where its target is, so others undo it.
    if (isOf(held, 'backup')) return undoBackup(this.#tools, held);
    if (isOf(held, 'restore')) return undoRestore(this.#tools, held);
    if (!isOf(held, 'move')) return 'done';
    const range = await this.#tools.catalogue.range(held.row.range);
    if (range?.row.operation !== held.row.id) throw held.takenOver();
    return new Mover(this.#tools, held, range.row).run();
  }
}

function isOf<Kind extends OperationRow['kind']>(
  held: HeldOperation<OperationRow>,
  kind: Kind,
): held is HeldOperation<Extract<OperationRow, { kind: Kind }>> {
  return held.row.kind === kind;
}

/** What becomes of an operation that is being undone when a store is silent. */
function stillUndone({ id, kind }: OperationRow): string {
  const goesOn = 'A server goes on with that when the store answers: tabularium partition list.';
  return kind === 'move'
    ? `Operation ${id} is cancelled, and not undone yet. ${goesOn}`
    : `Operation ${id} does not go on, and is not undone yet. ${goesOn}`;
}

/** Whether a key can bound a range: whole elements, no more of them than a partition prefix has. */
export function isBoundary(key: Bytes): boolean {
  let end = 0;
  try {
    for (let count = 0; count < partitionPrefixElements && end < key.length; count += 1) {
      end = elementEnd(key, end);
    }
  } catch {
    return false;
  }
  return end === key.length;
}

function refused(refusal: Refusal): BeginResult {
  return { ok: false, refusal };
}
