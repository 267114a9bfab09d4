import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import { describe, it } from 'node:test';
import { manualClock } from '../base/clock.js';
import { systemRandomness } from '../base/randomness.js';
import { openMemoryContent } from '../content/memory/content.js';
import { openMemoryStore } from '../engines/memory/store.js';
import { ReadWriteLock } from '../base/async/read-write-lock.js';
import { StoreClosedError } from '../kv/errors.js';
import { backendOver, noteTime, reclaimSteps } from './backend.js';
import { renewableBackend } from './renewable-backend.js';
import { settingsOf } from './settings.js';

describe('a store that cannot tell its last version', () => {
  it('is closed, and the start fails with its error', async () => {
    const clock = manualClock();
    const store = await openMemoryStore({ clock });
    store.lastVersion = () => Promise.reject(new Error('the last version cannot be read'));
    const settings = settingsOf({ inMemory: true, clock, randomness: systemRandomness });
    await assert.rejects(noteTime(settings, store), /the last version cannot be read/);
    await assert.rejects(store.get(Buffer.from('key')), StoreClosedError);
  });
});

describe('freeing space', () => {
  it('waits while data are replaced, and then works on what is there', async () => {
    const clock = manualClock();
    const store = await openMemoryStore({ clock });
    const settings = settingsOf({ inMemory: true, clock, randomness: systemRandomness });
    const backend = renewableBackend(() =>
      backendOver({ store, content: openMemoryContent() }, settings),
    );
    const before = backend.tables;
    const lock = new ReadWriteLock();
    const events: string[] = [];
    const alone = lock.write(async () => {
      await setImmediate();
      backend.renew();
      events.push('replaced');
    });
    const steps = reclaimSteps(backend, { isContentRemote: false }, lock).map(async (step) => {
      await step.run({ entriesMax: 10 });
      events.push(step.name);
    });
    await Promise.all([alone, ...steps]);
    assert.equal(events[0], 'replaced');
    assert.equal(events.length, steps.length + 1);
    assert.notEqual(backend.tables, before);
  });
});

describe('logs in an account that keeps versions and what is deleted', () => {
  it('leave neither versions nor deleted blobs', async () => {
    const clock = manualClock();
    const store = await openMemoryStore({ clock });
    const randomness = systemRandomness;
    const settings = settingsOf({ inMemory: true, clock, randomness, blobVersioning: true });
    const backend = backendOver({ store, content: openMemoryContent() }, settings);
    const { blobs, logs, properties } = backend;
    const deleteRetention = { enabled: true, days: 7, allowPermanentDelete: false };
    await properties.set('blob', 'acct', { deleteRetention });
    const metadata = { types: [], startMicros: 0, endMicros: 0, version: '1.0' } as const;
    for (const line of ['a', 'b', 'c']) {
      await logs.append('acct', 'log', [Buffer.from(line)], metadata);
    }
    const states = { snapshots: true, versions: true, uncommitted: true, deleted: true };
    const listed = async (): Promise<number> => {
      const address = { account: 'acct', container: '$logs' };
      return (await blobs.listBlobs(address, { ...states, limit: 10 })).items.length;
    };
    assert.equal(await listed(), 1);
    await logs.deleteRange('acct', { start: 'a', end: 'z' }, 10);
    assert.equal(await listed(), 0);
    await logs.append('acct', 'log', [Buffer.from('d')], metadata);
    await blobs.deleteBlob({ account: 'acct', container: '$logs', blob: 'log' });
    assert.equal(await listed(), 0, 'nor does a log that its owner deletes');
  });
});
