import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { manualClock } from '../base/clock.js';
import { openMemoryStore } from '../engines/memory/store.js';
import { ReadWriteLock } from '../base/async/read-write-lock.js';
import { withPartitionRule } from '../kv/partition-rule.js';
import type { Store } from '../kv/store.js';
import type { Sharing } from './open-engine.js';
import { SnapshotError, Snapshots } from './snapshots.js';

async function snapshotsOf(sharing: Sharing, wrap = (store: Store) => store) {
  const clock = manualClock();
  const store = wrap(await openMemoryStore({ clock }));
  const renewals: string[] = [];
  const onReplaced = () => renewals.push('renewed');
  const content = { retained: 0, suspected: 0 };
  const snapshots = new Snapshots({
    store,
    sharing,
    lock: new ReadWriteLock(),
    clock,
    onReplaced,
    content: {
      retain() {
        content.retained += 1;
        return () => void (content.retained -= 1);
      },
      suspectAll() {
        content.suspected += 1;
        return Promise.resolve();
      },
    },
  });
  return { store, snapshots, renewals, content };
}

describe('snapshots', () => {
  it('are refused where other processes serve the same data', async () => {
    const { snapshots } = await snapshotsOf('join');
    for (const work of [
      () => snapshots.reset(),
      () => snapshots.snapshot('a'),
      () => snapshots.restore('a'),
    ]) {
      await assert.rejects(work, (error: unknown) => {
        assert.ok(error instanceof SnapshotError);
        assert.match(error.message, /Serve them with one process/);
        return true;
      });
    }
  });

  it('are refused, with what to do, by a store that cannot be set back', async () => {
    const { snapshots } = await snapshotsOf('exclusive', withPartitionRule);
    const refused = {
      name: 'SnapshotError',
      message: /Use a server in memory, or one with a single data/,
    };
    await assert.rejects(snapshots.snapshot('a'), refused);
    await assert.rejects(snapshots.reset(), refused);
  });

  it('have services forget what they know whenever data are replaced', async () => {
    const { snapshots, renewals } = await snapshotsOf('exclusive');
    await snapshots.snapshot('a');
    assert.equal(renewals.length, 0);
    await snapshots.restore('a');
    await snapshots.reset();
    assert.equal(renewals.length, 2);
  });

  it('keep the content that they name, each until it is gone', async () => {
    const { snapshots, content } = await snapshotsOf('exclusive');
    await snapshots.snapshot('a');
    await snapshots.snapshot('b');
    await snapshots.snapshot('a');
    assert.equal(content.retained, 2);
    snapshots.deleteSnapshot('a');
    assert.equal(content.retained, 1);
    assert.equal(content.suspected, 0);
    await snapshots.restore('b');
    await snapshots.reset();
    assert.equal(content.suspected, 2);
    snapshots.close();
    assert.equal(content.retained, 0);
  });

  it('are bounded, and a name can be used again', async () => {
    const { snapshots } = await snapshotsOf('exclusive');
    for (let index = 0; index < 100; index += 1) await snapshots.snapshot(`s${index}`);
    await assert.rejects(snapshots.snapshot('one-more'), SnapshotError);
    await snapshots.snapshot('s0');
    assert.equal(snapshots.snapshots.length, 100);
  });
});
