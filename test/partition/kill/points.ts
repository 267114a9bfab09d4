import assert from 'node:assert/strict';
import type { Catalogue } from '../../../src/partition/catalogue.js';
import type { BeginResult, Operations } from '../../../src/partition/operations/operations.js';
import { moveSteps, type MoveStep } from '../../../src/partition/rows.js';
import { partitionCount, prefixOf } from './table.js';

/**
 * When a process that works on a range is killed: around the fence of a split or merge, or a step.
 */
export type Point = { readonly moment: 'before' | 'after' } & (
  { readonly kind: 'split' | 'merge' } | { readonly kind: 'move'; readonly step: MoveStep }
);

/** Every moment at which something differs for whoever takes over. */
export const points: readonly Point[] = (['before', 'after'] as const).flatMap((moment) => {
  const moves = moveSteps.map((step): Point => ({ kind: 'move', step, moment }));
  return moves.concat({ kind: 'split', moment }, { kind: 'merge', moment });
});

/** Where a move is when it is cancelled: it has copied. */
export const beforeCancel: Point = { kind: 'move', step: 'catch up', moment: 'before' };

/** Begins what the point is about, on ranges that are as it needs them. */
export async function beginAt(
  point: Point,
  catalogue: Catalogue,
  operations: Operations,
): Promise<number> {
  const end = (begun: BeginResult) => operations.carryOut(begunOf(begun));
  const cut = prefixOf(partitionCount / 2);
  const [left, right] = (await catalogue.map()).ranges;
  assert.ok(left !== undefined);
  if (point.kind === 'split' && right !== undefined) await end(await merge(catalogue, operations));
  if (point.kind !== 'split' && right === undefined)
    await end(await operations.beginSplit(left.id, cut));
  if (point.kind === 'merge') return begunOf(await merge(catalogue, operations));
  const { id, store } = (await catalogue.map()).at(cut);
  if (point.kind === 'split') return begunOf(await operations.beginSplit(id, cut));
  const other = store === 's0' ? 's1' : 's0';
  return begunOf(
    point.kind === 'move' && point.step === 'discard'
      ? await operations.beginDiscard(id, other)
      : await operations.beginMove(id, other),
  );
}

/** Of the two ranges, which may be on two stores. */
async function merge(catalogue: Catalogue, operations: Operations): Promise<BeginResult> {
  const [left, right] = (await catalogue.map()).ranges;
  assert.ok(left !== undefined && right !== undefined);
  if (left.store !== right.store) {
    await operations.carryOut(begunOf(await operations.beginMove(right.id, left.store)));
  }
  return operations.beginMerge(left.id, right.id);
}

function begunOf(begun: BeginResult): number {
  assert.ok(begun.ok, `it does not begin: ${JSON.stringify(begun)}`);
  return begun.operation;
}
