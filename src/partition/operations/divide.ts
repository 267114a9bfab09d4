import { GuardError } from '../../kv/errors.js';
import type { Bytes } from '../../base/bytes.js';
import type { Check, Put } from '../../kv/store.js';
import { guardKey, successorsKey, mapKey, rangeKey } from '../keys.js';
import {
  encodeGuardRow,
  encodeIds,
  encodeMapRow,
  encodeRangeRow,
  type MergeRow,
  type OperationRow,
  type RangeRow,
  type SplitRow,
  type Versioned,
} from '../rows.js';
import { heldRange, readGuard, takeGuard, type HeldOperation } from './held-operation.js';
import { answeringMember } from '../reach.js';
import type { OperationTools } from './tools.js';

/** The ranges before and after an operation, all on one store. */
interface Replacement {
  readonly before: readonly Versioned<RangeRow>[];
  readonly after: readonly RangeRow[];
}

/** Carries out a split, or continues one that another process has begun. */
export async function split(tools: OperationTools, held: HeldOperation<SplitRow>): Promise<void> {
  const { range, at, left, right } = held.row;
  const whole = await heldRange(tools, held, range);
  const half = { store: whole.row.store, epoch: whole.row.epoch + 1, operation: 0 };
  const after = [
    { ...half, id: left, start: whole.row.start, end: at },
    { ...half, id: right, start: at, end: whole.row.end },
  ];
  await replace(tools, held, { before: [whole], after });
}

/**
 * Carries out a merge of two neighbours on one store, or continues one that another process has
 * begun.
 */
export async function merge(tools: OperationTools, held: HeldOperation<MergeRow>): Promise<void> {
  const { into } = held.row;
  const left = await heldRange(tools, held, held.row.left);
  const right = await heldRange(tools, held, held.row.right);
  const whole = {
    id: into,
    start: left.row.start,
    end: right.row.end,
    store: left.row.store,
    epoch: Math.max(left.row.epoch, right.row.epoch) + 1,
    operation: 0,
  };
  await replace(tools, held, { before: [left, right], after: [whole] });
}

/**
 * One fence replaces the guards, then one commit replaces the ranges in the map. Calls in between
 * find no guard, read the map again and wait.
 */
async function replace(
  tools: OperationTools,
  held: HeldOperation<OperationRow>,
  { before, after }: Replacement,
): Promise<void> {
  await held.guarded(replaceGuards(tools, held, { before, after }));
  const successors = encodeIds(after.map(({ id }) => id));
  for (let isDone = false; !isDone;) {
    // An operation on other ranges may change the row of the map; the commit is tried again then.
    const map = await tools.catalogue.mapRow();
    const checks = [
      { key: mapKey, version: map.version },
      ...before.map(({ row, version }) => ({ key: rangeKey(row.id), version })),
    ];
    const mapRow = { ...map.row, version: map.row.version + 1 };
    const puts = [
      { key: mapKey, value: encodeMapRow(mapRow) },
      ...after.map((row) => ({ key: rangeKey(row.id), value: encodeRangeRow(row) })),
      // So a front end that knows a replaced range reads its successors only, not all ranges.
      ...before.map(({ row }) => ({ key: successorsKey(row.id), value: successors })),
    ];
    const deletes = before.map(({ row }) => rangeKey(row.id));
    isDone = await held.finish(checks, puts, deletes);
  }
}

async function replaceGuards(
  tools: OperationTools,
  held: HeldOperation<OperationRow>,
  { before, after }: Replacement,
): Promise<void> {
  const [first] = after;
  if (first === undefined) return;
  const store = answeringMember(tools, first.store);
  const { id: operation, token } = held.row;
  if ((await readGuard(store, first.id)) !== undefined) return;
  const checks: Check[] = [];
  const deletes: Bytes[] = [];
  for (const { row } of before) {
    const guard = await takeGuard(tools, held, { store: first.store, range: row.id });
    if (guard === undefined) {
      // Either another process has just written the new guards, or the operation is finished.
      if ((await readGuard(store, first.id)) !== undefined) return;
      throw held.takenOver();
    }
    checks.push({ key: guardKey(row.id), version: guard.version });
    deletes.push(guardKey(row.id));
  }
  const puts = after.map((row): Put => {
    const guard = { state: 'serving', epoch: row.epoch, operation, token } as const;
    return { key: guardKey(row.id), value: encodeGuardRow(guard) };
  });
  const result = await store.fence({ checks, puts, deletes });
  if (!result.ok) throw new GuardError(result.actual);
}
