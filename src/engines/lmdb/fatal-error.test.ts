import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { describe } from 'node:test';
import { spawnLmdbStore, temporaryLocation } from '../../../test/support/engine-lmdb.js';
import { Faults, type FaultCall } from '../../../test/support/faults/faults.js';
import { withoutFaults } from '../../../test/support/faults/shim.js';
import { sampled } from '../../../test/support/run-length.js';
import { systemClock } from '../../base/clock.js';
import { it } from '../../base/conformance/limited-test.js';
import type { Store } from '../../kv/store.js';
import { openLmdbStore } from './store.js';

const commitsMax = 12;

async function spawn(t: TestContext) {
  const faults = await Faults.make();
  const { directory, remove } = await temporaryLocation();
  const child = await spawnLmdbStore(directory, 'exclusive', faults.env);
  t.after(async () => {
    await child.kill();
    await faults[Symbol.asyncDispose]();
    await remove();
  });
  return { faults, directory, child };
}

const keyOf = (index: number) => Buffer.from(`key ${index}`);

function put(store: Store, index: number) {
  const puts = [{ key: keyOf(index), value: Buffer.alloc(100, index) }];
  return store.commit({ checks: [], puts, deletes: [] });
}

/** Commits one by one; returns which were acknowledged, and the errors of the others. */
async function write(store: Store) {
  const kept: number[] = [];
  const refused: number[] = [];
  const errors: string[] = [];
  for (let index = 1; index <= commitsMax; index += 1) {
    const error = await put(store, index).then(
      () => undefined,
      (reason: unknown) => String(reason),
    );
    if (error === undefined) kept.push(index);
    else errors.push(error);
    if (error !== undefined && !error.includes('CommitUnknownError')) refused.push(index);
  }
  return { kept, refused, errors };
}

describe('an error of the disk', () => {
  const cases: readonly (readonly [FaultCall, 'ENOSPC' | 'EIO'])[] = [
    ['pwrite', 'ENOSPC'],
    ['pwrite', 'EIO'],
    ['writev', 'ENOSPC'],
    ['fdatasync', 'EIO'],
  ];
  for (const [call, error] of sampled(cases)) {
    it(`${error} of any ${call} is refused, and ends the store or not: it never hangs`, async (t) => {
      if (withoutFaults !== false) return t.skip(withoutFaults);
      const ends: string[] = [];
      for (const after of sampled([0, 1, 2, 3])) {
        const { faults, directory, child } = await spawn(t);
        faults.set({
          path: 'data.mdb',
          calls: [call],
          action: { kind: 'fail', error },
          after,
          times: 1,
        });
        const { kept, refused, errors } = await write(child.store);
        const failed = errors.some((text) => text.includes('StoreFailedError'));
        ends.push(failed ? 'failed' : 'went on');
        if (failed) {
          assert.match(errors.at(-1) ?? '', /StoreFailedError/, 'for good');
          await assert.rejects(
            child.store.get(keyOf(1)),
            /StoreFailedError: The storage engine cannot/,
          );
        } else assert.ok(errors.length <= 1, errors.join('\n'));
        await child.store.close();
        await child.kill();
        const again = await openLmdbStore({ directory, clock: systemClock });
        t.after(() => again.close());
        const found = await again.getMany(kept.map(keyOf));
        for (const [at, index] of kept.entries())
          assert.deepEqual(found[at]?.value, Buffer.alloc(100, index));
        const applied = await again.getMany(refused.map(keyOf));
        assert.ok(
          applied.every((entry) => entry === undefined),
          'only a commit whose outcome was not known may have been applied',
        );
        const unknown = errors.length - refused.length;
        assert.ok(unknown <= 1, `one commit was under way, not ${unknown}`);
        if (failed) assert.equal(unknown, 1, `after ${after}: ${errors.join('\n')}`);
        assert.equal((await put(again, 99)).ok, true);
        await again.close();
      }
      t.diagnostic(ends.join(', '));
    });
  }
});
