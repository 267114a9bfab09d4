import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { contentFolder } from '../../src/content/files/content-directory.js';
import { killed, type Troubles } from '../crash/unanswered.js';
import { StartFailure } from '../support/crash-server.js';
import { Faults, syncCalls, writeCalls, type FaultAction } from '../support/faults/faults.js';
import { withoutFaults } from '../support/faults/shim.js';
import type { SimRandom } from '../support/sim-random.js';
import { afterTroubles } from './aftermath.js';
import { assertEndedClearly, assertStopped } from './endings.js';
import { eventually, Finding } from './finding.js';
import type { Outcome, Scenario } from './scenario.js';
import { untroubled, World } from './world.js';

// Faults of system calls on the disk.

const dataFile = 'data.mdb';
const journalFiles = 'data/journal/';
/** Where the bytes of larger blobs are. */
const contentFiles = `data/${contentFolder}/`;
const diskErrors = ['ENOSPC', 'EIO'] as const;
const failing: Troubles = { breaks: 'go on', failures: 'unanswered' };

/**
 * A file that the server writes to. With a journal it writes the data file only every few seconds.
 */
function writtenIn(world: World, random: SimRandom): string {
  if (random.chance(0.3)) return contentFiles;
  return world.keepsJournal && random.chance(0.7) ? journalFiles : dataFile;
}

type Run = (random: SimRandom, faults: Faults) => Promise<Outcome>;

function workersFor(random: SimRandom): 1 | 2 {
  return random.chance(0.3) ? 2 : 1;
}

/** Once, now and then, or always for some time. */
function pattern(random: SimRandom) {
  return random.pick([
    { times: 1, after: random.int(10) },
    { times: 5, every: random.between(1, 20) },
    { every: random.between(1, 10) },
    {},
  ]);
}

function callsFail(calls: typeof writeCalls): Run {
  return async (random, faults) => {
    await using world = await World.make(random, { workers: workersFor(random), env: faults.env });
    const load = world.beginLoad(failing);
    await pause(random.between(50, 200));
    const action: FaultAction = { kind: 'fail', error: random.pick(diskErrors) };
    faults.set({ calls, path: writtenIn(world, random), action, ...pattern(random) });
    await pause(random.between(50, 800));
    faults.clear();
    const outcome = await afterTroubles(world, load);
    return outcome;
  };
}

/** Each sync is slow; a stop must wait for the commits in progress. */
const slowDisk: Run = async (random, faults) => {
  await using world = await World.make(random, { workers: workersFor(random), env: faults.env });
  const load = world.beginLoad(killed);
  const action: FaultAction = { kind: 'delay', ms: random.between(20, 300) };
  faults.set({ calls: [...writeCalls, ...syncCalls], path: writtenIn(world, random), action });
  await pause(random.between(200, 600));
  await world.stop();
  await load.end();
  faults.clear();
  await world.start();
  await world.settle();
  return 'starts again';
};

/** A sync that never returns must not keep a process from ending. */
const stuckDisk: Run = async (random, faults) => {
  await using world = await World.make(random, { workers: workersFor(random), env: faults.env });
  const load = world.beginLoad({ breaks: 'end', failures: 'unanswered' });
  faults.set({ calls: syncCalls, path: dataFile, action: { kind: 'delay', ms: 3_600_000 } });
  await faults.hit();
  await pause(random.between(0, 200));
  const isTold = random.chance(0.7);
  world.server.signal(isTold ? 'SIGTERM' : 'SIGKILL');
  if (isTold && random.chance(0.5)) {
    await pause(random.between(0, 200));
    world.server.signal('SIGINT');
  }
  const exit = await world.ended();
  faults.clear();
  await load.end();
  // A process with a call that never returns is killed.
  if (exit.signal !== 'SIGKILL') assertStopped(exit, [0, 1, 130, 143]);
  await world.start();
  await world.settle();
  return 'starts again';
};

/** A start under a fault rule must fail with a message or succeed. */
async function startUnder(world: World): Promise<Outcome> {
  try {
    await world.tryStart();
    await world.kill();
    return 'starts again';
  } catch (error) {
    if (!(error instanceof StartFailure)) throw new Finding(String(error), { cause: error });
    assertEndedClearly(error.exit);
    await world.assertNobodyLeft();
    return 'ends clearly';
  }
}

const startFails: Run = async (random, faults) => {
  await using world = await World.make(random, { workers: workersFor(random), env: faults.env });
  await world.loadFor(100);
  await world.stop();
  faults.set({
    calls: random.pick([['open'], writeCalls, syncCalls, ['ftruncate'], ['rename']] as const),
    path: random.pick([dataFile, journalFiles, world.location]),
    action: { kind: 'fail', error: random.pick([...diskErrors, 'EACCES', 'EMFILE', 'EROFS']) },
    after: random.int(4),
  });
  const outcome = await startUnder(world);
  faults.clear();
  await world.start();
  await world.settle();
  return outcome;
};

/** The first start on a directory fails or is killed at one of its calls; the next one succeeds. */
const firstStart: Run = async (random, faults) => {
  await using world = await World.make(random, { workers: workersFor(random), env: faults.env });
  await world.stop();
  const data = world.location;
  for (let attempt = 0; attempt < 3; attempt += 1) {
    const fresh = join(data, '..', `fresh${attempt}`);
    const isDeath = random.chance(0.5);
    const action: FaultAction = isDeath
      ? { kind: 'end', when: random.pick(['before', 'after', 'halfway'] as const) }
      : { kind: 'fail', error: random.pick(diskErrors) };
    // Failures of `open` are left out: LMDB crashes when it opens a file again and that fails.
    const opens = isDeath ? (['open'] as const) : [];
    const calls = [...writeCalls, ...syncCalls, ...opens, 'rename', 'ftruncate'] as const;
    faults.set({ calls, path: fresh, action, after: random.int(30), times: 1 });
    try {
      await world.tryStart(['--location', fresh]);
      await world.kill();
    } catch (error) {
      if (!(error instanceof StartFailure)) throw new Finding(String(error), { cause: error });
      if (!isDeath) assertEndedClearly(error.exit);
    }
    faults.clear();
    await world.start(['--location', fresh]);
    await world.becomesHealthy();
    await world.stop();
  }
  return 'starts again';
};

/** The process is killed at one of the calls that write, before, after or in the middle of it. */
const crashPoints: Run = async (random, faults) => {
  await using world = await World.make(random, { env: faults.env });
  for (let crash = 0; crash < 3; crash += 1) {
    const load = world.beginLoad(killed);
    await pause(random.between(20, 200));
    faults.set({
      calls: [...writeCalls, ...syncCalls],
      path: random.chance(0.3) ? contentFiles : world.keepsJournal ? journalFiles : dataFile,
      action: { kind: 'end', when: random.pick(['before', 'after', 'halfway'] as const) },
      after: random.int(60),
    });
    const { signal } = await world.ended();
    if (signal !== 'SIGKILL') throw new Finding(`ended with ${signal}`);
    faults.clear();
    await load.end();
    await world.start();
    await world.settle();
  }
  return 'starts again';
};

/** The same in a worker while its primary lives. */
const workerCrashPoints: Run = async (random, faults) => {
  await using world = await World.make(random, { workers: 2, env: faults.env });
  for (let crash = 0; crash < 2; crash += 1) {
    const pid = random.pick(await world.workerPids());
    faults.set({
      calls: [...writeCalls, ...syncCalls],
      path: dataFile,
      action: { kind: 'end', when: random.pick(['before', 'after', 'halfway'] as const) },
      pid,
      after: random.int(60),
    });
    await eventually('a worker dies at its call', async () => {
      // New connections are distributed to all workers that listen by then.
      const load = world.beginLoad({ breaks: 'go on', failures: 'surprise' });
      await pause(500);
      await load.end();
      return !world.processes().includes(pid);
    });
    faults.clear();
    await world.settle();
  }
  await world.restart();
  await world.settle();
  return 'goes on';
};

/**
 * Writes of the log file fail for some time: requests must not notice, and the log must recover.
 */
const logFails: Run = async (random, faults) => {
  const workers = workersFor(random);
  const isDebugFile = random.chance(0.5);
  const file = 'server.log';
  await using world = await World.make(random, {
    workers,
    env: faults.env,
    logTo: file,
    flags: ['--log-level', 'debug'],
  });
  if (isDebugFile) {
    await world.stop();
    await world.start(['--debug', world.beside(file)]);
  }
  await world.whileServing(async () => {
    const load = world.beginLoad(untroubled);
    faults.set({
      calls: writeCalls,
      path: file,
      action: { kind: 'fail', error: random.pick(diskErrors) },
      every: random.pick([1, 1, 3]),
    });
    await pause(random.between(200, 1000));
    await world.becomesHealthy();
    faults.clear();
    const { size } = await stat(world.beside(file));
    await eventually('the log goes on', async () => (await stat(world.beside(file))).size > size);
    await load.end();
    await world.settle();
  });
  await world.restart();
  await world.settle();
  return 'goes on';
};

const runs: Readonly<Record<string, Run>> = {
  'writes-fail': callsFail(writeCalls),
  'syncs-fail': callsFail(syncCalls),
  'slow-disk': slowDisk,
  'stuck-disk': stuckDisk,
  'start-fails': startFails,
  'first-start': firstStart,
  'crash-points': crashPoints,
  'worker-crash-points': workerCrashPoints,
  'log-fails': logFails,
};

export const diskFaultScenarios: readonly Scenario[] = Object.entries(runs).map(([name, run]) => ({
  area: 'disk',
  name,
  skip: withoutFaults,
  run: async (random) => {
    await using faults = await Faults.make();
    const outcome = await run(random, faults);
    return outcome;
  },
}));
