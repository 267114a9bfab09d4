import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe } from 'node:test';
import { temporaryLocation } from '../../../test/support/engine-lmdb.js';
import { manualClock } from '../../base/clock.js';
import { it } from '../../base/conformance/limited-test.js';
import { remoteStore } from '../../kv/conformance/remote-store.js';
import type { CommitBatch } from '../../kv/store.js';
import { openLmdbStore } from './store.js';
import { costly } from '../../../test/support/run-length.js';

const child = fileURLToPath(new URL('../../../test/support/engine-lmdb-child.js', import.meta.url));
/** Files end at 4 or 8 MiB, as the shell counts its blocks; a write beyond fails. */
const limitFiles = `trap '' XFSZ; ulimit -f 8192; exec "$0" "$@"`;

function put(name: string, bytes = 100): CommitBatch {
  const value = Buffer.alloc(bytes, name);
  return { checks: [], puts: [{ key: Buffer.from(name), value }], deletes: [] };
}

describe('a write that fails', () => {
  it(
    'rejects its commit alone: others of its group, reads and later commits go on',
    costly(),
    async (t) => {
      if (process.platform === 'win32') {
        t.skip('its shell cannot limit files');
        return;
      }
      const { directory, remove } = await temporaryLocation();
      const spawned = await remoteStore(
        fork(child, [directory, 'exclusive'], {
          execPath: '/bin/sh',
          execArgv: ['-c', limitFiles, process.execPath],
          serialization: 'advanced',
          // The package reports failed writes on stdout and stderr.
          stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
        }),
      );
      t.after(async () => {
        await spawned.kill();
        await remove();
      });
      const { store } = spawned;
      assert.equal((await store.commit(put('before'))).ok, true);
      for (let round = 0; round < 3; round += 1) {
        const small = Array.from({ length: 10 }, (_, index) => put(`${round} ${index}`));
        const large = put('large', 20_000_000);
        const batches = [...small.slice(0, 5), large, ...small.slice(5)];
        const settled = await Promise.allSettled(batches.map((batch) => store.commit(batch)));
        for (const [index, result] of settled.entries()) {
          const expected = batches[index] === large ? 'rejected' : 'fulfilled';
          assert.equal(result.status, expected, `commit ${index} of round ${round}`);
          if (result.status === 'rejected') {
            assert.match(String(result.reason), /StoreWriteError: The commit could not be written/);
          }
        }
        const keys = small.flatMap(({ puts }) => puts.map(({ key }) => key));
        const found = await store.getMany([...keys, Buffer.from('before')]);
        assert.ok(found.every((entry) => entry?.value.length === 100));
        assert.equal(await store.get(Buffer.from('large')), undefined);
      }
    },
  );

  it('leaves nothing of a commit that throws between its writes', async (t) => {
    const { directory, remove } = await temporaryLocation();
    const store = await openLmdbStore({ directory, clock: manualClock() });
    t.after(async () => {
      await store.close();
      await remove();
    });
    const broken = {
      checks: [],
      puts: [
        { key: Buffer.from('first'), value: Buffer.from('1') },
        // An invalid value, which makes the engine throw in the middle of a commit.
        { key: Buffer.from('second'), value: 7 as never },
      ],
      deletes: [],
    };
    const results = await Promise.allSettled([
      store.commit(put('left')),
      store.commit(broken),
      store.commit(put('right')),
    ]);
    assert.deepEqual(
      results.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled'],
    );
    const page = await store.range({ start: Buffer.from('a') }, { limit: 9, bytesMax: 9_999 });
    assert.deepEqual(page.entries.map(({ key }) => String(key)).toSorted(), ['left', 'right']);
  });
});
