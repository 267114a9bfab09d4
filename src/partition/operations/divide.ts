import { GuardError } from '../../kv/errors.js';
import type { Bytes } from '../../base/bytes.js';
import type { Check, Put } from '../../kv/store.js';
import { guardKey, heirsKey, mapKey, rangeKey } from '../keys.js';
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
import type { OperationTools } from './tools.js';

/** Ranges that go, and those that take their place on the same store. */
interface Replacement {
  readonly old: readonly Versioned<RangeRow>[];
  readonly young: readonly RangeRow[];
}

/** Carries out a split, from wherever a process before has left it. */
export async function split(tools: OperationTools, held: HeldOperation<SplitRow>): Promise<void> {
  const { range, at, left, right } = held.row;
  const whole = await heldRange(tools, held, range);
  const half = { store: whole.row.store, epoch: whole.row.epoch + 1, operation: 0 };
  const young = [
    { ...half, id: left, start: whole.row.start, end: at },
    { ...half, id: right, start: at, end: whole.row.end },
  ];
  await replace(tools, held, { old: [whole], young });
}

/** Carries out a merge of two neighbours on one store. */
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
  await replace(tools, held, { old: [left, right], young: [whole] });
}

/** One fence changes the guards, then one commit the map. In between, calls look again and wait. */
async function replace(
  tools: OperationTools,
  held: HeldOperation<OperationRow>,
  { old, young }: Replacement,
): Promise<void> {
  await held.guarded(replaceGuards(tools, held, { old, young }));
  const heirs = encodeIds(young.map(({ id }) => id));
  for (let isDone = false; !isDone;) {
    // Operations on other ranges change the map as well.
    const map = await tools.catalogue.mapRow();
    const checks = [
      { key: mapKey, version: map.version },
      ...old.map(({ row, version }) => ({ key: rangeKey(row.id), version })),
    ];
    const mapRow = { ...map.row, version: map.row.version + 1 };
    const puts = [
      { key: mapKey, value: encodeMapRow(mapRow) },
      ...young.map((row) => ({ key: rangeKey(row.id), value: encodeRangeRow(row) })),
      // Front ends that know the old ranges need not read all others to find these.
      ...old.map(({ row }) => ({ key: heirsKey(row.id), value: heirs })),
    ];
    const deletes = old.map(({ row }) => rangeKey(row.id));
    isDone = await held.finish(checks, puts, deletes);
  }
}

async function replaceGuards(
  { members }: OperationTools,
  held: HeldOperation<OperationRow>,
  { old, young }: Replacement,
): Promise<void> {
  const [first] = young;
  if (first === undefined) return;
  const store = members.named(first.store);
  const { id: operation, token } = held.row;
  if ((await readGuard(store, first.id)) !== undefined) return;
  const checks: Check[] = [];
  const deletes: Bytes[] = [];
  for (const { row } of old) {
    const guard = await takeGuard(store, row.id, held);
    if (guard === undefined) {
      // A process before has written them just now, or the operation is over.
      if ((await readGuard(store, first.id)) !== undefined) return;
      throw held.takenOver();
    }
    checks.push({ key: guardKey(row.id), version: guard.version });
    deletes.push(guardKey(row.id));
  }
  const puts = young.map((row): Put => {
    const guard = { state: 'serving', epoch: row.epoch, operation, token } as const;
    return { key: guardKey(row.id), value: encodeGuardRow(guard) };
  });
  const result = await store.fence({ checks, puts, deletes });
  if (!result.ok) throw new GuardError(result.actual);
}
