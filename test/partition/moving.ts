import { setTimeout as pause } from 'node:timers/promises';
import { StoreClosedError } from '../../src/kv/errors.js';
import type { Catalogue } from '../../src/partition/catalogue.js';
import type { Members } from '../../src/partition/members.js';
import type { Operations } from '../../src/partition/operations/operations.js';
import { drawn } from '../support/run-length.js';
import { cuts } from './composed-stores.js';

interface Parts {
  readonly operations: Operations;
  readonly catalogue: Catalogue;
  readonly members: Members;
}

/** Splits, merges and moves ranges, one after the other, until the signal or the stores close. */
export async function moving(parts: Parts, signal: AbortSignal): Promise<void> {
  try {
    await moveOn(parts, signal);
  } catch (error) {
    if (!(error instanceof StoreClosedError)) throw error;
  }
}

async function moveOn(
  { operations, catalogue, members }: Parts,
  signal: AbortSignal,
): Promise<void> {
  const pick = <Item>(items: readonly Item[]) => items[drawn(items.length)];
  while (!signal.aborted) {
    const { ranges } = await catalogue.map();
    const [range, at, target] = [pick(ranges), pick(cuts), pick(members.names)];
    if (range === undefined || at === undefined || target === undefined) return;
    const next = ranges[ranges.indexOf(range) + 1] ?? range;
    const begin = pick([
      () => operations.beginSplit(range.id, at),
      () => operations.beginMerge(range.id, next.id),
      () => operations.beginMove(range.id, target),
    ]);
    const begun = await begin?.();
    if (begun?.ok === true) await operations.carryOut(begun.operation);
    await pause(2);
  }
}
