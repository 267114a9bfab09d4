import type { Timers } from '../../base/async/timers.js';
import { guardKey, progressKey } from '../keys.js';
import { answered, answeringMember } from '../reach.js';
import { readGuard } from './held-operation.js';
import type { OperationRunner } from './operation-runner.js';
import type { Refusal } from './operations.js';
import { ServedTwiceError } from './tools.js';
import type { Members } from '../members.js';
import type { Finding } from '../findings.js';

export interface RepairTools {
  readonly members: Members;
  readonly operationRunner: Pick<OperationRunner, 'operationsWith'>;
  readonly timers: Timers;
}

/** The outcome for one finding. */
export type Repair = { readonly kind: 'repaired'; readonly finding: Finding } | UnrepairedFinding;

/** A finding that is left unchanged. */
export interface UnrepairedFinding {
  readonly kind: 'left';
  readonly finding: Finding;
  readonly why: UnrepairedReason;
}

/** `no repair`: only a person can decide what is right. */
export type UnrepairedReason = Refusal | 'no repair' | 'served twice';

/**
 * Repairs findings of `verify` that are safe to delete: data of a range in a store that does not
 * have the range, while another store serves it, and guards that do not serve. Changes nothing
 * else. Rejects with `StoreUnavailableError` when a store is silent; an operation that has begun is
 * then carried on like every other that was left.
 */
export async function repair(
  tools: RepairTools,
  findings: readonly Finding[],
): Promise<readonly Repair[]> {
  const repairs: Repair[] = [];
  /** A store may have data and a guard of the same range. */
  const ends = new Map<string, UnrepairedReason | undefined>();
  for (const finding of findings) {
    if (finding.kind !== 'stray data' && finding.kind !== 'stray guard') {
      repairs.push({ kind: 'left', finding, why: 'no repair' });
      continue;
    }
    const { range, store } = finding;
    const found = `${range} ${store}`;
    const why = ends.has(found) ? ends.get(found) : await discard(tools, finding);
    ends.set(found, why);
    repairs.push(
      why === undefined ? { kind: 'repaired', finding } : { kind: 'left', finding, why },
    );
  }
  return repairs;
}

/** Undefined: it was deleted. */
async function discard(
  tools: RepairTools,
  finding: Finding & { readonly kind: 'stray data' | 'stray guard' },
): Promise<UnrepairedReason | undefined> {
  const { range, store } = finding;
  if (finding.kind === 'stray guard' && finding.serves) return 'served twice';
  const { timers, operationRunner } = tools;
  let deleted = 0;
  const operations = operationRunner.operationsWith({
    onDeleted: (keys) => (deleted += keys),
  });
  const begun = await operations.beginDiscard(range, store);
  if (begun.ok) {
    const asked = { store, timers, isLong: true, progress: () => deleted };
    return whyLeft(answered(operations.carryOut(begun.operation), asked));
  }
  if (begun.refusal !== 'no such range') return begun.refusal;
  await removeGuard(tools, store, range);
  return undefined;
}

/** Why an operation that deletes has deleted nothing; undefined when it has. */
async function whyLeft(ended: Promise<unknown>): Promise<UnrepairedReason | undefined> {
  try {
    await ended;
    return undefined;
  } catch (error) {
    if (error instanceof ServedTwiceError) return 'served twice';
    throw error;
  }
}

/** Removes the guard of a range that no longer exists: its number is never used again. */
async function removeGuard(tools: RepairTools, name: string, range: number): Promise<void> {
  const store = answeringMember(tools, name);
  const guard = await readGuard(store, range);
  if (guard === undefined) return;
  const key = guardKey(range);
  const checks = [{ key, version: guard.version }];
  await store.fence({ checks, puts: [], deletes: [key, progressKey(range)] });
}
