import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { selfTimes, type CpuProfile } from './cpu-profile.js';
import { profilingFlags } from './flames.js';
import { isProfileAnswer, type ProfileAnswer, type ProfileRequest } from './profile-request.js';
import { costly } from '../../test/support/run-length.js';

/**
 * A process with three threads, one after the other: the first has ended before the others begin,
 * the second ends while it is profiled. The third and the main thread work when they are asked to,
 * and tell when they have. How much they do is counted: in a given time a busy machine may let them
 * do nothing.
 */
const turns = 5_000_000;
const program = `
  const { Worker } = require('node:worker_threads');
  const threadOf = (source) =>
    new Worker(new URL('data:text/javascript,' + encodeURIComponent(source)));
  const untilTold = \`
    import { parentPort } from 'node:worker_threads';
    parentPort.once('message', () => undefined);\`;
  const working = \`
    import { parentPort } from 'node:worker_threads';
    parentPort.on('message', function threadWork() {
      for (let turn = 0; turn < ${turns}; turn += 1) globalThis.turn = turn;
      parentPort.postMessage('worked');
    });
    parentPort.postMessage('ready');\`;
  let second, third;
  threadOf('void 0').on('exit', () => {
    second = threadOf(untilTold);
    second.on('online', () => {
      third = threadOf(working);
      third.on('message', (message) => process.send(message));
    });
  });
  process.on('message', function mainWork(message) {
    if (message !== 'work') return;
    for (let turn = 0; turn < ${turns}; turn += 1) globalThis.turn = turn;
    if (second === undefined) return third.postMessage('work');
    second.on('exit', () => third.postMessage('work'));
    second.postMessage('end');
    second = undefined;
  });
`;

const roundsMin = 2;
const roundsMax = 50;

function functionsIn(file: string): readonly string[] {
  const profile = JSON.parse(readFileSync(file, 'utf8')) as CpuProfile;
  return selfTimes(profile, '').map(({ name }) => name.split(' ')[0] ?? '');
}

it('profiles the threads of a process while it is asked to', costly(), async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tabularium-profiled-'));
  const child = spawn(process.execPath, [...profilingFlags, '-e', program], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const answer = async (): Promise<unknown> => ((await once(child, 'message')) as [unknown])[0];
  const ask = async (request: ProfileRequest): Promise<ProfileAnswer> => {
    child.send(request);
    const answered = await answer();
    assert.ok(isProfileAnswer(answered));
    return answered;
  };
  try {
    assert.equal(await answer(), 'ready');
    const seen = { main: new Set<string>(), thread: new Set<string>() };
    const isSeen = (): boolean => seen.main.has('mainWork') && seen.thread.has('threadWork');
    // A busy machine may take no sample in so short a time.
    for (let round = 0; round < roundsMin || (round < roundsMax && !isSeen()); round += 1) {
      const path = join(folder, String(round));
      assert.deepEqual(await ask({ profile: 'start' }), { profile: 'started' });
      child.send('work');
      assert.equal(await answer(), 'worked');
      const stopped = await ask({ profile: 'stop', path });
      assert.ok(stopped.profile === 'written', JSON.stringify(stopped));
      const [main, thread] = stopped.threads;
      assert.deepEqual(main, { thread: 'main thread', file: `${path}.cpuprofile` });
      assert.deepEqual(thread, { thread: 'thread 3', file: `${path}.thread-3.cpuprofile` });
      for (const name of functionsIn(main.file)) seen.main.add(name);
      for (const name of functionsIn(thread.file)) seen.thread.add(name);
    }
    const others = readdirSync(folder).filter(
      (name) => !/^\d+(\.thread-3)?\.cpuprofile$/.test(name),
    );
    assert.deepEqual(others, [], 'no thread takes the answer of another for a request');
    assert.ok(isSeen(), `${[...seen.main].join()} and ${[...seen.thread].join()}`);
    assert.ok(!seen.main.has('threadWork') && !seen.thread.has('mainWork'));
    assert.equal((await ask({ profile: 'stop', path: folder })).profile, 'failed');
  } finally {
    child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  }
});
