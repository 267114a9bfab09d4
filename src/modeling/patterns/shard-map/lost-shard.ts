import type { Timers } from '../../../base/async/timers.js';
import { concurrently } from '../../../base/async/concurrently.js';
import { messageOf } from '../../../base/thrown.js';
import { losingShards } from '../../../placement/losing-shards.js';
import { ModelError } from '../../rows/model-error.js';
import { retryConflicts } from '../../table/contention.js';
import { TableNotFoundError } from '../../table/errors.js';
import type { TableGateway } from '../../table/gateway.js';
import { claimPartition, epochOf, fencesOf, isClaimLost } from './fence.js';
import type { Moving } from './map-phases.js';
import { routeOf, shardsOfState, type MapState } from './map-state.js';
import { concurrencyDefault, type WalkedShard } from './partition-walk.js';
import { leadingOf, ownerOfShard, requireBound } from './shard-binding.js';
import { noTable, StaleMapError } from './shard-errors.js';
import type { RequireWhole } from './shard-map-options.js';
import type { StoredMap } from './stored-map.js';

/** What giving up a shard takes of a shard map. */
export interface LostShardParts {
  readonly map: StoredMap;
  /** Every shard that the program has a table for. */
  readonly shards: readonly WalkedShard[];
  /** For the waits between attempts. */
  readonly timers: Timers;
  readonly textOf: (partitionKey: string) => string;
  readonly requireWhole: RequireWhole;
  /** Makes the table of a shard one of the map. */
  readonly bind: (shard: string) => Promise<void>;
}

export interface GiveUpOptions {
  /** Other shards whose accounts are gone as well: they know of nothing. */
  readonly gone?: readonly string[];
  /** Called when it is certain that the shard can be given up, before anything is changed. */
  readonly begin?: () => Promise<void>;
  /** Makes the table of the shard. Called when no program copies from the shard any more. */
  readonly makeTable?: () => Promise<void>;
}

/**
 * Lets a change of the map go on without what an emptied shard had, in this order: a new version of
 * the map; the partitions that were to leave the shard; its table. By the version, programs that
 * copy a partition later begin again. The partitions are opened on their new shards, where any
 * other shard knows of them: above what all of these know, so that what an earlier handover has
 * left there counts nowhere. That ends the claim of a program that still copies one of them.
 * Partitions that the shard had got are handed over again. Only then there is a table, which is one
 * of the map again: what is copied from there deletes the copies. Called again after a crash.
 * Returns the number of partitions that were opened.
 */
export async function giveUpShard(
  { map, shards, timers, textOf, requireWhole, bind }: LostShardParts,
  shard: string,
  { gone = [], begin, makeTable }: GiveUpOptions = {},
): Promise<number> {
  const found = requireOperation(map, await map.fresh());
  const isLeft = losingShards(found.routing, found.target).includes(shard);
  const others = isLeft ? shards.filter(({ name }) => name !== shard) : [];
  const answering = await requireAnswers(map, found, { shard, others, gone });
  await begin?.();
  const state = await map.change('giving up a shard', (current): MapState => {
    const now = requireOperation(map, current);
    const version = now.version + 1;
    const isLeftNow = losingShards(now.routing, now.target).includes(shard);
    if (isLeftNow !== isLeft) throw new StaleMapError(`${map.title} has changed; ${again}`);
    if (!isLeft && now.phase !== 'handed-over') return { ...now, version };
    const { access: _, ...change } = now;
    return { ...change, version, phase: 'handing-over' };
  });
  // A restore that has begun meanwhile brings back what the shard had.
  await requireWhole([shard]);
  let opened = 0;
  if (state.phase === 'handing-over') {
    const tables = new Map(answering.map(({ name, table }) => [name, table]));
    const open = async (partitionKey: string): Promise<void> => {
      const { home, before } = routeOf(state, textOf(partitionKey));
      if (home === undefined || before !== shard) return;
      const table = tables.get(home);
      if (table === undefined) {
        // Nobody has its rows any more: it is opened by its first write, or by the handover.
        if (gone.includes(home)) return;
        throw noTable(home);
      }
      const what = `opening '${partitionKey}' in ${table.table}`;
      const attempt = (): Promise<boolean> =>
        openLost({ map, state, others: [...tables.values()] }, table, partitionKey);
      if (await retryConflicts(what, { timers }, attempt, isClaimLost)) opened += 1;
    };
    for (const { table } of answering) {
      await concurrently(fencesOf(table), concurrencyDefault, (fence) => open(fence.partitionKey));
    }
  }
  await makeTable?.();
  await bind(shard);
  return opened;
}

const again = 'give the shard up again';

/** Handovers of changes without an operation do not ask whether the former shard was emptied. */
function requireOperation({ title }: StoredMap, state: MapState): Moving {
  const none = 'no shard is to be given up';
  if (state.phase === 'settled') throw new StaleMapError(`${title} does not change: ${none}`);
  if (state.operation !== undefined) return state;
  throw new StaleMapError(`no operation makes the change of ${title}: ${none}`);
}

/**
 * The other shards with a table. Throws `ModelError` for one that cannot be asked, or that has lost
 * its rows, unless it is known to be gone. Up to two point reads of each.
 */
async function requireAnswers(
  { title }: StoredMap,
  state: MapState,
  {
    shard,
    others,
    gone,
  }: {
    readonly shard: string;
    readonly others: readonly WalkedShard[];
    readonly gone: readonly string[];
  },
): Promise<readonly WalkedShard[]> {
  const used = shardsOfState(state);
  const answering: WalkedShard[] = [];
  const failed: { readonly name: string; readonly error: unknown }[] = [];
  for (const other of others) {
    const { name, table } = other;
    const isGone = gone.includes(name);
    try {
      if (isGone || !used.includes(name)) await ownerOfShard(table);
      else await requireBound(table, { shard: name, title, ...leadingOf(state) });
      answering.push(other);
    } catch (error) {
      if (!(isGone && error instanceof TableNotFoundError)) failed.push({ name, error });
    }
  }
  const [first] = failed;
  if (first === undefined) return answering;
  const names = failed.map(({ name }) => `'${name}'`).join(', ');
  throw new ModelError(
    `the shard '${shard}' is not given up, and nothing was changed: what other shards have of its ` +
      `partitions must be known, and ${names} cannot be asked (${messageOf(first.error)}). Try ` +
      'again when it can; one whose account is gone for good as well is detached and gets an ' +
      'empty account first',
    { cause: first.error },
  );
}

/** Returns whether it was opened now. */
async function openLost(
  {
    map,
    state,
    others,
  }: {
    readonly map: StoredMap;
    readonly state: MapState;
    readonly others: readonly TableGateway[];
  },
  table: TableGateway,
  partitionKey: string,
): Promise<boolean> {
  const claim = await claimPartition(table, partitionKey);
  if (claim === undefined) return false;
  // Read after the claim: a later change of the map finds the claim.
  const { version } = await map.fresh();
  if (version !== state.version) {
    await claim.release();
    throw new StaleMapError(`${map.title} has changed; ${again}`);
  }
  const known = await Promise.all(others.map((other) => epochOf(other, partitionKey)));
  // Above 1 as well: a program that had looked at the shard shortly before may have opened the
  // partition for a write in the account that has its name now.
  await claim.open(Math.max(1, ...known) + 1);
  return true;
}
