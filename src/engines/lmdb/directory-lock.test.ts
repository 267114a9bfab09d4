import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir } from 'node:fs/promises';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { describe } from 'node:test';
import { spawnLmdbStore, temporaryLocation } from '../../../test/support/engine-lmdb.js';
import { manualClock } from '../../base/clock.js';
import { fasterTimers } from '../../../test/support/quick-timers.js';
import { systemTimers, type Timers } from '../../base/async/timers.js';
import { it } from '../../base/conformance/limited-test.js';
import { joinDirectory, lockDirectory } from './directory-lock.js';
import { quietMs } from './lock-wait.js';
import { openEnvironment } from './environment.js';
import { openLmdbStore } from './store.js';
import { costly } from '../../../test/support/run-length.js';

const clock = manualClock();
/** For a wait that is to end without the lock. */
const hurried = fasterTimers(30, systemTimers);

/**
 * Timers for a start that learns from a process of its own who holds the lock. It says so again and
 * again until it is told, and only then its time is over, however slow the machine is.
 */
function untilTold(isTold: () => boolean): Timers {
  return {
    start(delayMs, callback, argument) {
      const look = setInterval(() => {
        if (isTold()) clearInterval(look);
        if (isTold() === delayMs > quietMs) callback(argument);
      }, 10);
      return { close: () => clearInterval(look) };
    },
  };
}

const holder = fileURLToPath(new URL('../../../test/support/hold-lock-child.js', import.meta.url));

async function setUp(t: TestContext) {
  const { directory, remove } = await temporaryLocation();
  await mkdir(directory);
  const environment = openEnvironment(directory, { sync: false });
  t.after(async () => {
    await environment.root.close();
    await remove();
  });
  const waits: string[] = [];
  const waiting = (message: string) => waits.push(message);
  const options = { directory, clock, waiting, isDurable: true, wasRead: true };
  const lock = (timers = systemTimers) => lockDirectory(environment, { ...options, timers });
  return { directory, environment, waits, lock };
}

describe('directory lock', () => {
  it('lets one of several in that all found no owner', async (t) => {
    const { directory, lock } = await setUp(t);
    // All read the record before one of them has written it.
    const settled = await Promise.allSettled([lock(), lock(), lock(), lock()]);
    const owners = settled.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
    assert.equal(owners.length, 1);
    for (const each of settled) {
      if (each.status === 'rejected')
        assert.equal((each.reason as { reason: string }).reason, 'in-use');
    }
    await owners[0]?.release();
    const sockets = (await readdir(directory)).filter((name) => name.endsWith('.sock'));
    assert.deepEqual(sockets, [], 'neither owner nor losers leave a socket');
  });

  it('is free again when released, and tells when its owner began', async (t) => {
    const { directory, environment, lock } = await setUp(t);
    const first = await lock();
    await assert.rejects(lock(), {
      message:
        `The data directory ${directory} is in use by process ${process.pid} ` +
        '(since 2023-11-14T22:13:20.000Z). Stop it, or choose another directory with --location.',
    });
    await (await joinDirectory(environment, directory)).release();
    await first.release();
    await assert.rejects(joinDirectory(environment, directory), { reason: 'no-owner' });
    await (await lock()).release();
  });

  it('is waited for by whoever opens what a dead owner left', costly(), async (t) => {
    if (process.platform === 'win32') return t.skip('has no SIGSTOP');
    const { directory, remove } = await temporaryLocation();
    t.after(remove);
    const owner = await spawnLmdbStore(directory, 'exclusive');
    await owner.kill();
    const child = spawn(process.execPath, [holder, directory]);
    await once(child.stdout, 'data');
    let wait = '';
    const waiting = (message: string): void => void (wait = message);
    const held = `held by process ${child.pid}`;
    const timers = untilTold(() => wait.endsWith(held));
    const opening = openLmdbStore({ directory, clock, timers, events: { waiting } });
    const message = new RegExp(`not free for 30 s, ${held}\\.`);
    await assert.rejects(opening, { reason: 'in-use', message });
    assert.equal(wait, `waiting for the lock of ${directory}, ${held}`);
    child.kill('SIGKILL');
    const store = await openLmdbStore({ directory, clock });
    await store.close();
  });

  it(
    'is waited for while a stopped process holds the lock of the data file, which is named',
    costly(),
    async (t) => {
      if (process.platform === 'win32') return t.skip('has no SIGSTOP');
      const { directory, waits, lock } = await setUp(t);
      const child = spawn(process.execPath, [holder, directory]);
      await once(child.stdout, 'data');
      const held = `held by process ${child.pid}`;
      await assert.rejects(lock(hurried), {
        reason: 'in-use',
        message:
          `The data directory ${directory} cannot be taken: its lock was not free for 30 s, ` +
          `${held}. End that process, by force if it must be, or choose another directory with ` +
          '--location.',
      });
      assert.deepEqual(waits, [`waiting for the lock of ${directory}, ${held}`]);
      const later = lock();
      child.kill('SIGKILL');
      await (await later).release();
      const sockets = (await readdir(directory)).filter((name) => name.endsWith('.sock'));
      assert.deepEqual(sockets, []);
    },
  );
});
