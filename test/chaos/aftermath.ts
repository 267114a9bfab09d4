import { setTimeout as pause } from 'node:timers/promises';
import type { Troubles } from '../crash/unanswered.js';
import type { ServerExit } from '../support/crash-server.js';
import { assertEndedClearly } from './endings.js';
import type { Outcome } from './scenario.js';
import type { RunningLoad, World } from './world.js';

/**
 * The cause of trouble is gone: the server must get well again, or must have ended in words and start
 * again. Either way it has what it acknowledged, and can be stopped.
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

/** A server may be well for a moment, and then find that it cannot go on. */
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

/** That it ended is no reason against it. */
async function afterEnd(world: World, error: unknown): Promise<'ended'> {
  const ended = await Promise.race([world.server.exit, pause(100)]);
  if (ended === undefined) throw error;
  return 'ended';
}

/** Trouble under clients that a server outlives. Afterwards it can be stopped and started again. */
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

/** Trouble under clients that ends a server, by itself or because it was asked to. */
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

/** A server that has ended starts again, and has what it acknowledged. */
export async function startsAgain(world: World): Promise<'starts again'> {
  await world.start();
  await world.settle();
  return 'starts again';
}
