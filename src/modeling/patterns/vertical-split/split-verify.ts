import type { Clock } from '../../../base/clock.js';
import type { AnyDefinition } from '../../definition/entity-definition.js';
import { etagOf, timestampOf, type Stored } from '../../definition/stored-entity.js';
import { unlessConflict } from '../../table/conditional-write.js';
import type { Entities } from '../../table/entities.js';
import { settledSince } from '../../table/grace.js';
import { keyOfHalf, partsOf } from './split-change.js';
import type { Group, SplitChanges } from './split-changes.js';
import { isMaking, pairOf } from './split-insert.js';

type Values = Readonly<Record<string, unknown>>;

/** A finding of `verify`. */
export interface SplitFault {
  /**
   * `unfinished`: an insert that was never acknowledged. `orphan`: a half without its entity, which
   * an insert or a delete has left. `changing`: a change of several groups that was never
   * acknowledged. `torn`: an entity that lacks a half, for instance after the table of the half was
   * restored; the half cannot be rebuilt.
   */
  readonly kind: 'changing' | 'orphan' | 'torn' | 'unfinished';
  readonly group: string;
  /** The values of the keys. */
  readonly key: Values;
  /** Whether the rows were deleted or, for a change, whether it was ended or taken back. */
  readonly isRepaired: boolean;
}

export interface SplitVerifyOptions {
  /** Deletes orphans and unfinished inserts, and ends changes; false when absent. */
  readonly repair?: boolean;
  /**
   * Rows that changed more recently are left alone, in milliseconds: because their insert may be
   * running. An hour when absent; must exceed the difference between the clocks of program and
   * service.
   */
  readonly graceMs?: number;
  readonly onFault?: (fault: SplitFault) => void;
}

/** The parts of a split that `verify` needs. */
export interface VerifiedSplit {
  readonly leader: Group;
  readonly halves: readonly Group[];
  readonly changes: SplitChanges;
  readonly keyNames: readonly string[];
  readonly clock: Clock;
}

interface Verifying extends VerifiedSplit {
  readonly repair: boolean;
  /** Of the ticks at which a row has changed. */
  readonly isSettled: (ticks: bigint | undefined) => boolean;
  readonly tell: (fault: SplitFault) => void;
}

/**
 * Finds rows that do not belong together, and repairs them if wanted; changes come first, because
 * ending them may resolve other findings.
 */
export async function verifySplit(
  split: VerifiedSplit,
  { repair = false, graceMs, onFault }: SplitVerifyOptions,
): Promise<readonly SplitFault[]> {
  const faults: SplitFault[] = [];
  const isSettled = settledSince(split.clock, graceMs);
  const tell = (fault: SplitFault): void => {
    faults.push(Object.freeze(fault));
    onFault?.(fault);
  };
  const verifying = { ...split, repair, isSettled, tell };
  for (const group of split.halves) await verifyChanges(verifying, group);
  await verifyLeaders(verifying);
  for (const group of split.halves) await verifyHalves(verifying, group);
  return faults;
}

async function verifyChanges(
  { changes, keyNames, repair, isSettled, tell }: Verifying,
  group: Group,
): Promise<void> {
  const [name, { table, codec }] = group;
  for await (const part of partsOf(table)) {
    if (!isSettled(part.row.timestamp)) continue;
    const key = picked(codec.parseKey(keyOfHalf(part)), keyNames);
    if (repair) await changes.settle(group, part);
    tell({ kind: 'changing', group: name, key, isRepaired: repair });
  }
}

/** Inserts that have not ended, and entities that lack a half. */
async function verifyLeaders({
  leader: [leader, leaders],
  halves,
  keyNames,
  repair,
  isSettled,
  tell,
}: Verifying): Promise<void> {
  for await (const row of leaders.scanTable()) {
    if (!isSettled(timestampOf(row)?.ticks)) continue;
    const key = picked(row, keyNames);
    if (isMaking(row)) {
      const isRepaired = repair && (await unlessConflict(() => deleted(leaders, row)));
      tell({ kind: 'unfinished', group: leader, key, isRepaired });
      continue;
    }
    for (const [group, entities] of halves) {
      if (pairOf(await entities.get(key)) === pairOf(row)) continue;
      // It may have been deleted meanwhile.
      const now = await leaders.get(key);
      if (now === undefined || etagOf(now) !== etagOf(row)) continue;
      tell({ kind: 'torn', group, key, isRepaired: false });
    }
  }
}

async function verifyHalves(
  { leader: [, leaders], keyNames, repair, isSettled, tell }: Verifying,
  [group, entities]: Group,
): Promise<void> {
  for await (const row of entities.scanTable()) {
    const key = picked(row, keyNames);
    if (!isSettled(timestampOf(row)?.ticks)) continue;
    if (pairOf(await leaders.get(key)) === pairOf(row)) continue;
    const isRepaired = repair && (await unlessConflict(() => deleted(entities, row)));
    tell({ kind: 'orphan', group, key, isRepaired });
  }
}

/** Deletes a row as it was read; a conflict is thrown. */
export async function deleted(
  entities: Entities<AnyDefinition>,
  row: Stored<object>,
): Promise<boolean> {
  await entities.delete(row);
  return true;
}

/** Some of the values, by their names. */
export function picked(values: object, names: readonly string[]): Values {
  const entries = names
    .filter((name) => Object.hasOwn(values, name))
    .map((name) => [name, (values as Values)[name]] as const);
  return Object.fromEntries(entries);
}
