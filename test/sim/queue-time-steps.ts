import assert from 'node:assert/strict';
import { accounts, type QueueWorld } from './queue-world.js';

const microsPerSecond = 1_000_000;
/**
 * The clock advances by so little in one step that messages with a life of a week last for many
 * steps.
 */
const boundaryMicrosMax = 3600 * microsPerSecond;

/** Advances the clock, sometimes to the exact time of a change or next to it. */
export async function advance(world: QueueWorld): Promise<void> {
  const { random, clock } = world;
  const kind = random.weighted({ boundary: 60, little: 30, much: 2 });
  const step =
    kind === 'boundary'
      ? stepToBoundary(world)
      : kind === 'little'
        ? random.int(3 * microsPerSecond)
        : random.int(24 * 3600) * microsPerSecond;
  clock.advanceMicros(step);
  world.note(`advance ${step}`);
  for (const account of accounts) {
    for (const queue of world.accounts[account].values()) queue.tidy(world.now);
  }
}

function stepToBoundary(world: QueueWorld): number {
  const { random, now } = world;
  const { queue } = world.place();
  const boundaries = (queue?.live(now) ?? [])
    .flatMap(({ nextVisibleMicros, expiresMicros }) => [nextVisibleMicros, expiresMicros])
    .filter((boundary) => boundary > now && boundary - now <= boundaryMicrosMax);
  if (boundaries.length === 0) return random.int(1000);
  return Math.max(0, random.pick(boundaries) - now + random.pick([-1, 0, 0, 1]));
}

/** A text, a state and an expiry entry. */
const messageEntries = 3;

/** A step of housekeeping, which has no visible effect. */
export async function reclaim(world: QueueWorld): Promise<void> {
  const { random } = world;
  const { housekeeping } = world.servers;
  if (housekeeping === undefined) return;
  const entriesMax = random.pick([1, 3, 10, 1000]);
  const { deleted } = await random.pick(housekeeping).reclaim({ entriesMax });
  world.note(`reclaim ${entriesMax} -> ${deleted}`);
  // A message is deleted completely, also the last one of a step.
  assert.ok(
    deleted < entriesMax + messageEntries,
    `${deleted} entries in a step of at most ${entriesMax}`,
  );
}
