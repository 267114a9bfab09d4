import { setTimeout as pause } from 'node:timers/promises';
import type { Troubles } from '../crash/unanswered.js';
import type { ServerExit } from '../support/crash-server.js';
import { assertEndedClearly } from './endings.js';
import type { Outcome } from './scenario.js';
import type { RunningLoad, World } from './world.js';

/**
 * Waits until the faults are over: the server must recover, or have ended with a message and start
 * again. It must have everything that it acknowledged, and stop when asked.
 */
export async function afterTroubles(world: World, load: RunningLoad): Promise<Outcome> {
  const outcome = await wellOrEnded(world);
  await load.end();
  if (outcome === 'ends clearly') await world.start();
  await world.settle();
  await world.restart();
  await world.settle();
  return outcome;
}

/** A server may look healthy for a moment before it notices that it cannot continue. */
async function wellOrEnded(world: World): Promise<'goes on' | 'ends clearly'> {
  const well = world.becomesHealthy().then(() => pause(500));
  well.catch(() => undefined);
  const ended = world.server.exit.then(() => 'ended' as const);
  if (
    (await Promise.race([ended, well.catch((error: unknown) => afterEnd(world, error))])) !==
    'ended'
  ) {
    return 'goes on';
  }
  assertEndedClearly(await world.ended());
  return 'ends clearly';
}

/** Ignores an error when the server has ended. Otherwise rethrows it. */
async function afterEnd(world: World, error: unknown): Promise<'ended'> {
  const ended = await Promise.race([world.server.exit, pause(100)]);
  if (ended === undefined) throw error;
  return 'ended';
}

/** Faults under load that the server must survive. Afterwards it is stopped and started again. */
export async function outlives(
  world: World,
  troubles: Troubles,
  cause: () => Promise<unknown>,
): Promise<'goes on'> {
  await world.whileServing(async () => {
    const load = world.beginLoad(troubles);
    await cause();
    await load.end();
    await world.settle();
  });
  await world.restart();
  await world.settle();
  return 'goes on';
}

/** Faults under load that end the server, by itself or because it was asked to. */
export async function endsUnder(
  world: World,
  troubles: Troubles,
  cause: () => Promise<unknown>,
): Promise<ServerExit> {
  const load = world.beginLoad(troubles);
  await cause();
  const exit = await world.ended();
  await load.end();
  return exit;
}

/** Starts a server that has ended, and checks that it has what it acknowledged. */
export async function startsAgain(world: World): Promise<'starts again'> {
  await world.start();
  await world.settle();
  return 'starts again';
}
