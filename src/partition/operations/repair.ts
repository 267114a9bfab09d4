import type { Timers } from '../../base/async/timers.js';
import { guardKey, progressKey } from '../keys.js';
import { answered } from '../reach.js';
import { readGuard } from './held-operation.js';
import type { Refusal, Operations } from './operations.js';
import { ServedTwiceError } from './tools.js';
import type { Members } from '../members.js';
import type { Finding } from '../findings.js';

export interface RepairTools {
  readonly members: Members;
  readonly operations: Operations;
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
 * else.
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
  const begun = await tools.operations.beginDiscard(range, store);
  if (begun.ok) return carriedOut(tools.operations, begun.operation);
  if (begun.refusal !== 'no such range') return begun.refusal;
  await removeGuard(tools, store, range);
  return undefined;
}

async function carriedOut(
  operations: Operations,
  operation: number,
): Promise<UnrepairedReason | undefined> {
  try {
    await operations.carryOut(operation);
    return undefined;
  } catch (error) {
    if (error instanceof ServedTwiceError) return 'served twice';
    throw error;
  }
}

/** Removes the guard of a range that no longer exists: its number is never used again. */
async function removeGuard(
  { members, timers }: RepairTools,
  name: string,
  range: number,
): Promise<void> {
  const store = members.named(name);
  const asked = { store: name, timers };
  const guard = await answered(readGuard(store, range), asked);
  if (guard === undefined) return;
  const key = guardKey(range);
  const checks = [{ key, version: guard.version }];
  const fence = store.fence({ checks, puts: [], deletes: [key, progressKey(range)] });
  await answered(fence, { ...asked, isLong: true });
}
