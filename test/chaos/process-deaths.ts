import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { killed, type Troubles } from '../crash/unanswered.js';
import { runCli } from '../support/cli-process.js';
import { freePorts } from '../support/cli-server.js';
import type { SimRandom } from '../support/sim-random.js';
import { assertEndedClearly, assertStopped } from './endings.js';
import { eventually, within } from './finding.js';
import { afterTroubles, endsUnder, outlives, startsAgain } from './aftermath.js';
import type { Scenario } from './scenario.js';
import { untroubled, World } from './world.js';

const skip = process.platform === 'linux' ? false : 'processes are found in /proc';

/** For scenarios in which workers are killed and started under load. */
const churn: Troubles = { breaks: 'go on', failures: 'surprise' };

function kill(pid: number, signal: NodeJS.Signals = 'SIGKILL'): void {
  try {
    process.kill(pid, signal);
  } catch {
    // The process has ended already.
  }
}

async function killPrimary(random: SimRandom) {
  await using world = await World.make(random, { workers: random.pick([1, 2]) });
  for (let round = 0; round < 2; round += 1) {
    await endsUnder(world, killed, async () => {
      await pause(random.between(20, 400));
      world.server.signal('SIGKILL');
    });
    await startsAgain(world);
  }
  return 'starts again' as const;
}

/** Each start on the directory uses another mode, on what the last one left. */
async function switchModes(random: SimRandom) {
  await using world = await World.make(random, { workers: random.pick([1, 2]) });
  for (let round = 0; round < 3; round += 1) {
    const signal = random.chance(0.7) ? 'SIGKILL' : 'SIGTERM';
    const exit = await endsUnder(world, killed, async () => {
      await pause(random.between(20, 400));
      world.server.signal(signal);
    });
    if (signal === 'SIGTERM') assertStopped(exit);
    world.workers = world.workers === 1 ? 2 : 1;
    await startsAgain(world);
  }
  return 'starts again' as const;
}

/** Kills one or all workers while the primary lives. */
async function killWorkers(random: SimRandom) {
  await using world = await World.make(random, { workers: random.pick([2, 3]) });
  return await outlives(world, churn, async () => {
    for (let round = 0; round < 2; round += 1) {
      const pids = await world.workerPids();
      await pause(random.between(20, 300));
      const victims = random.chance(0.3) ? pids : [random.pick(pids)];
      for (const pid of victims) kill(pid);
      await eventually('killed workers are gone', () =>
        world.processes().every((pid) => !victims.includes(pid)),
      );
    }
    await world.workerPids();
    await pause(100);
  });
}

/** Kills the primary and a worker, or all processes, within milliseconds. */
async function killBoth(random: SimRandom) {
  await using world = await World.make(random, { workers: 2 });
  const pids = await world.workerPids();
  await endsUnder(world, killed, async () => {
    await pause(random.between(20, 400));
    const victims = random.chance(0.5) ? pids : [random.pick(pids)];
    const order = random.chance(0.5)
      ? [world.server.pid, ...victims]
      : [...victims, world.server.pid];
    for (const pid of order) {
      kill(pid);
      await pause(random.int(5));
    }
  });
  return await startsAgain(world);
}

/** Stops a worker by SIGSTOP for some time: everything acknowledged must remain. */
async function freezeWorker(random: SimRandom) {
  await using world = await World.make(random, { workers: 2 });
  const pid = random.pick(await world.workerPids());
  return await outlives(world, churn, async () => {
    await pause(random.between(20, 200));
    kill(pid, 'SIGSTOP');
    await pause(random.between(100, 1000));
    kill(pid, random.chance(0.5) ? 'SIGCONT' : 'SIGKILL');
    await pause(200);
  });
}

/** Stops the server while its workers are killed. */
async function stopWithDeadWorker(random: SimRandom) {
  await using world = await World.make(random, { workers: 2 });
  const pids = await world.workerPids();
  const exit = await endsUnder(world, { ...killed, failures: 'unanswered' }, async () => {
    await pause(random.between(20, 300));
    const victim = random.pick(pids);
    if (random.chance(0.5)) kill(victim);
    await pause(random.int(50));
    world.server.signal('SIGTERM');
    await pause(random.int(50));
    kill(victim);
  });
  assertStopped(exit, [0, 1]);
  return await startsAgain(world);
}

/** A second server on the directory must be refused with a message and do no harm. */
async function secondServer(random: SimRandom) {
  await using world = await World.make(random, { workers: random.pick([1, 2]) });
  return await outlives(world, untroubled, async () => {
    const args = ['start', ...freePorts, '--location', world.location, ...world.flags];
    const second = runCli(args, { env: world.env });
    const { code, signal, stdout, stderr } = await within('a second server is refused', second);
    assertEndedClearly({ code, signal, output: stdout + stderr });
  });
}

const launcher = `
  const { spawn } = require('node:child_process');
  const child = spawn(process.execPath, process.argv.slice(1), { stdio: ['pipe', 'pipe', 'pipe'] });
  child.stdout.on('data', (chunk) => process.stdout.write(chunk));
  child.stderr.on('data', () => undefined);
  process.stdout.write('child ' + child.pid + '\\n');
`;

/** The process that started the server dies, and with it the reader of its output. */
async function orphaned(random: SimRandom) {
  await using world = await World.make(random, { workers: random.pick([1, 2]) });
  await world.loadFor(100);
  await world.stop();
  const program = new URL('../../../bin/tabularium.js', import.meta.url).pathname;
  const args = [program, 'start', ...freePorts, '--location', world.location, ...world.flags];
  const parent = spawn(process.execPath, ['-e', launcher, ...args], {
    env: { ...process.env, ...world.env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let printed = '';
  parent.stdout.on('data', (chunk: Buffer) => (printed += chunk.toString()));
  await eventually('a started child listens', () => printed.includes('to stop.'));
  const pid = Number(/child (\d+)/.exec(printed)?.[1]);
  parent.kill('SIGKILL');
  await once(parent, 'exit');
  // The server may continue or end by itself; it must end when asked to.
  await pause(random.between(0, 1000));
  const isAsked = world.processes().includes(pid);
  if (isAsked) kill(pid, random.pick(['SIGTERM', 'SIGINT'] as const));
  await world.assertNobodyLeft();
  return await startsAgain(world);
}

/** Workers die as soon as they start. The server gives up with a message, or survives. */
async function crashLoop(random: SimRandom) {
  await using world = await World.make(random, { workers: 2 });
  const load = world.beginLoad({ breaks: 'go on', failures: 'unanswered' });
  const { server } = world;
  for (let round = 0; round < 12; round += 1) {
    for (const pid of world.processes()) if (pid !== server.pid) kill(pid);
    await pause(random.between(10, 300));
  }
  const outcome = await afterTroubles(world, load);
  return outcome;
}

const runs = {
  'kill-primary': killPrimary,
  'switch-modes': switchModes,
  'kill-workers': killWorkers,
  'kill-both': killBoth,
  'freeze-worker': freezeWorker,
  'stop-dead-worker': stopWithDeadWorker,
  'second-server': secondServer,
  orphaned,
  'crash-loop': crashLoop,
};

export const processScenarios: readonly Scenario[] = Object.entries(runs).map(([name, run]) => {
  return { area: 'processes', name, skip, run };
});
