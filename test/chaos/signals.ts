import { setTimeout as pause } from 'node:timers/promises';
import { CliProcess } from '../support/cli-process.js';
import { bannerEnd, freePorts } from '../support/cli-server.js';
import type { SimRandom } from '../support/sim-random.js';
import { killed } from '../crash/unanswered.js';
import { endsUnder, outlives, startsAgain } from './aftermath.js';
import { assertStopped } from './endings.js';
import { Finding, within } from './finding.js';
import type { Scenario } from './scenario.js';
import { untroubled, World } from './world.js';

const stopSignals = ['SIGTERM', 'SIGINT'] as const;
/** A second stop signal ends a process at once with 128 plus the signal number. */
const stopCodes = [0, 130, 143];
/** The time between the moments at which signals are sent. */
const stepMs = 10;
const startMsMax = 900;
const stopMsMax = 300;

function withWorkers(random: SimRandom): { readonly workers: number } {
  return { workers: random.chance(0.4) ? 2 : 1 };
}

function momentWithin(random: SimRandom, ms: number): number {
  return stepMs * random.int(ms / stepMs);
}

/** The program as `world` starts it, without waiting until it listens. */
function startOnly(world: World): CliProcess {
  const args = ['start', ...freePorts, '--location', world.location, ...world.flags];
  return new CliProcess(args, { env: world.env });
}

/** A signal during a start ends it, or the start continues and the server can be stopped. */
async function duringStart(random: SimRandom) {
  await using world = await World.make(random, withWorkers(random));
  await world.loadFor(100);
  await world.stop();
  for (let start = 0; start < 3; start += 1) {
    const signal = random.pick([...stopSignals, 'SIGHUP'] as const);
    const server = startOnly(world);
    await pause(momentWithin(random, startMsMax));
    server.child.kill(signal);
    if (random.chance(0.3)) {
      await pause(momentWithin(random, 100));
      server.child.kill(signal);
    }
    if (signal === 'SIGHUP') await endAfterHangup(server);
    const { code, signal: by, stdout, stderr } = await within(`${signal} ends it`, server.result);
    // Before the program handles signals the system ends the process, and nothing has begun.
    if (by !== signal) assertStopped({ code, signal: by, output: stdout + stderr }, stopCodes);
    await world.assertNobodyLeft();
  }
  return await startsAgain(world);
}

/** Before the program handles SIGHUP the signal ends it; afterwards the start continues. */
async function endAfterHangup(server: CliProcess): Promise<void> {
  const listens = server.printed(bannerEnd).catch(() => undefined);
  await within('a start goes on after SIGHUP, or ends', listens);
  server.child.kill('SIGTERM');
}

/** Signals while a loaded server stops. */
async function duringStop(random: SimRandom) {
  await using world = await World.make(random, withWorkers(random));
  const signals = random.between(0, 3);
  const exit = await endsUnder(world, killed, async () => {
    await pause(random.between(50, 400));
    world.server.signal(random.pick(stopSignals));
    for (let signal = 0; signal < signals; signal += 1) {
      await pause(momentWithin(random, stopMsMax));
      world.server.signal(random.pick([...stopSignals, 'SIGHUP'] as const));
    }
  });
  assertStopped(exit, signals === 0 ? [0] : stopCodes);
  return await startsAgain(world);
}

/** Sends the same signal to every process, as terminals and service managers do. */
async function toTheGroup(random: SimRandom) {
  await using world = await World.make(random, { workers: 2 });
  await world.workerPids();
  const exit = await endsUnder(world, killed, async () => {
    await pause(random.between(50, 400));
    const signal = random.pick(stopSignals);
    for (const pid of world.processes()) process.kill(pid, signal);
  });
  assertStopped(exit);
  return await startsAgain(world);
}

/** SIGHUP has no effect that clients could notice. */
async function hangups(random: SimRandom) {
  await using world = await World.make(random, withWorkers(random));
  return await outlives(world, untroubled, async () => {
    for (let hangup = 0; hangup < 10; hangup += 1) {
      await pause(momentWithin(random, 100));
      world.server.signal('SIGHUP');
    }
    await pause(100);
  });
}

/** Stops a server whose output nobody reads. */
async function withoutReader(random: SimRandom) {
  await using world = await World.make(random, withWorkers(random));
  await world.stop();
  const server = startOnly(world);
  await pause(momentWithin(random, startMsMax));
  server.child.stdout.destroy();
  if (random.chance(0.5)) server.child.stderr.destroy();
  await pause(momentWithin(random, startMsMax));
  server.child.kill('SIGTERM');
  const { signal } = await within('SIGTERM ends it', server.result);
  if (signal !== null && signal !== 'SIGTERM') throw new Finding(`ended by ${signal}`);
  await world.assertNobodyLeft();
  return await startsAgain(world);
}

export const signalScenarios: readonly Scenario[] = [
  { area: 'signals', name: 'during-start', run: duringStart },
  { area: 'signals', name: 'during-stop', run: duringStop },
  { area: 'signals', name: 'group', run: toTheGroup },
  { area: 'signals', name: 'hangups', run: hangups },
  { area: 'signals', name: 'without-reader', run: withoutReader },
];
