import assert from 'node:assert/strict';
import { mkdir, readdir } from 'node:fs/promises';
import type { TestContext } from 'node:test';
import { describe } from 'node:test';
import { temporaryLocation } from '../../../test/support/engine-lmdb.js';
import { manualClock } from '../../base/clock.js';
import { it } from '../../kv/conformance/limited-test.js';
import { joinDirectory, lockDirectory } from './directory-lock.js';
import { openEnvironment } from './environment.js';

const clock = manualClock();

async function setUp(t: TestContext) {
  const { directory, remove } = await temporaryLocation();
  await mkdir(directory);
  const environment = openEnvironment(directory, { sync: false });
  t.after(async () => {
    await environment.root.close();
    await remove();
  });
  return { directory, environment, lock: () => lockDirectory(environment, { directory, clock }) };
}

describe('directory lock', () => {
  it('lets one of several in that all found no owner', async (t) => {
    const { directory, lock } = await setUp(t);
    // All read the record before any of them has written it.
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
});
