import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { openTestStore } from '../../../test/support/stores.js';
import { systemTimers } from '../../base/async/timers.js';
import { manualClock, type ManualClock } from '../../base/clock.js';
import { forwardClock } from '../../base/forward-clock.js';
import { systemRandomness } from '../../base/randomness.js';
import { openMemoryContent } from '../../content/memory/content.js';
import { ServicePropertiesService } from '../accounts/service-properties.js';
import { BlobService } from '../blobs/blob-service.js';
import { BlobLogs } from './blob-logs.js';
import { logRetention } from './log-retention.js';
import type { LogMetadata } from './log-sink.js';
import { LogWriter } from './log-writer.js';

const begun = Date.UTC(2024, 2, 1, 12) * 1000;
const hour = 3_600_000_000;
const name = 'table/2024/03/01/1200/000000.log';

const metadata: LogMetadata = {
  types: ['write'],
  startMicros: begun + 5_000_000,
  endMicros: begun + 6_000_000,
  version: '1.0',
};

const bytesOf = (...lines: readonly string[]) => lines.map((line) => Buffer.from(line));

async function openLogs(t: TestContext, clock: ManualClock = manualClock(begun)) {
  const store = await openTestStore('memory', t, clock);
  const blobs = new BlobService({
    store,
    content: openMemoryContent(),
    clock: forwardClock(clock),
    randomness: systemRandomness,
    timers: systemTimers,
  });
  const open = () => new BlobLogs({ store, randomness: systemRandomness, blobs });
  return { store, blobs, open, logs: open(), clock };
}

async function textOf(blobs: BlobService, blob: string): Promise<string> {
  const reading = await blobs.getBlob({ account: 'acct', container: '$logs', blob });
  const pieces: Buffer[] = [];
  for await (const piece of reading.body) pieces.push(Buffer.from(piece));
  return Buffer.concat(pieces).toString('utf8');
}

describe('logs in blobs (blob-service §21.2)', () => {
  it('grow by blocks, and say what is in them', async (t) => {
    const { blobs, logs } = await openLogs(t);
    assert.deepEqual(await logs.append('acct', name, bytesOf('a\n', 'ü\n'), metadata), {
      kind: 'appended',
      bytes: 5,
    });
    const later = { ...metadata, types: ['read'] as const, endMicros: begun + 9_500_000 };
    assert.deepEqual(await logs.append('acct', name, bytesOf('c\n'), later), {
      kind: 'appended',
      bytes: 7,
    });
    assert.equal(await textOf(blobs, name), 'a\nü\nc\n');
    const address = { account: 'acct', container: '$logs', blob: name };
    const properties = await blobs.getProperties(address);
    assert.deepEqual(properties.metadata, [
      ['LogType', 'read,write'],
      ['StartTime', '2024-03-01T12:00:05Z'],
      ['EndTime', '2024-03-01T12:00:09Z'],
      ['LogVersion', '1.0'],
    ]);
    assert.equal(properties.headers.contentType, 'text/plain');
  });

  it('have lines of one version, and nothing of what another has', async (t) => {
    const { blobs, logs } = await openLogs(t);
    await logs.append('acct', name, bytesOf('a\n'), metadata);
    const address = { account: 'acct', container: '$logs', blob: name };
    const { modifiedMicros } = await blobs.getProperties(address);
    const other = await logs.append('acct', name, bytesOf('b\n'), { ...metadata, version: '2.0' });
    assert.deepEqual(other, { kind: 'other-version' });
    assert.equal(await textOf(blobs, name), 'a\n');
    assert.equal((await blobs.getProperties(address)).modifiedMicros, modifiedMicros);
    assert.deepEqual((await blobs.getBlockList(address, 'all')).blocks.uncommitted, []);
  });

  it('lose no line when several processes append at once', async (t) => {
    const { blobs, open } = await openLogs(t);
    const writers = Array.from({ length: 5 }, () => open());
    await Promise.all(
      writers.map(async (logs, writer) => {
        for (let round = 0; round < 6; round += 1) {
          await logs.append('acct', name, bytesOf(`${writer} ${round}\n`), metadata);
        }
      }),
    );
    const lines = (await textOf(blobs, name)).split('\n').slice(0, -1);
    assert.equal(lines.length, 30);
    assert.equal(new Set(lines).size, 30);
  });

  for (const before of [[], ['first\n']]) {
    it(`lose no line that is appended between a read and a write, after ${before.length}`, async (t) => {
      const { store, blobs, logs } = await openLogs(t);
      if (before.length > 0) await logs.append('acct', name, bytesOf(...before), metadata);
      else await logs.open('acct');
      let interferes = true;
      const late: BlobService = Object.create(blobs, {
        putBlock: {
          value: async (...args: Parameters<BlobService['putBlock']>) => {
            if (interferes) {
              interferes = false;
              await logs.append('acct', name, bytesOf('between\n'), metadata);
            }
            return blobs.putBlock(...args);
          },
        },
        putBlockList: {
          value: (...args: Parameters<BlobService['putBlockList']>) => blobs.putBlockList(...args),
        },
        getBlockList: {
          value: (...args: Parameters<BlobService['getBlockList']>) => blobs.getBlockList(...args),
        },
        getProperties: {
          value: (...args: Parameters<BlobService['getProperties']>) =>
            blobs.getProperties(...args),
        },
      }) as BlobService;
      const slow = new BlobLogs({ store, randomness: systemRandomness, blobs: late });
      await slow.append('acct', name, bytesOf('last\n'), metadata);
      assert.equal(await textOf(blobs, name), [...before, 'between\n', 'last\n'].join(''));
    });
  }

  it('are deleted after the days of their service, the oldest first', async (t) => {
    const { store, blobs, logs, clock } = await openLogs(t);
    const properties = new ServicePropertiesService(store);
    const writer = new LogWriter({ logs });
    for (let at = 0; at < 30; at += 1) {
      for (const service of ['table', 'queue'] as const) {
        const hourMicros = begun + at * hour;
        const times = { startMicros: hourMicros, endMicros: hourMicros };
        const about = { types: ['read'], version: '1.0', ...times } as const;
        const lines = { count: 1, lines: Buffer.from('a\n') };
        writer.add({ account: 'acct', service, hourMicros, metadata: about, ...lines });
      }
    }
    await writer.write();
    const logging = { version: '1.0', read: false, write: false, delete: false };
    const retention = { enabled: true, days: 1 };
    await properties.set('table', 'acct', { logging: { ...logging, retention } });
    const sweep = logRetention({ store, clock, properties, logs });
    const run = async () => {
      let deleted = 0;
      for (;;) {
        const step = await sweep.step({ entriesMax: 4 });
        assert.ok(step.deleted <= 4);
        deleted += step.deleted;
        if (!step.more) return deleted;
      }
    };
    clock.advanceMicros(29 * hour);
    assert.equal(await run(), 5);
    assert.equal(await run(), 0);
    clock.advanceMicros(60 * hour);
    assert.equal(await run(), 25);
    await assert.rejects(blobs.getProperties({ account: 'acct', container: '$logs', blob: name }));
    const other = 'queue/2024/03/01/1200/000000.log';
    assert.equal(await textOf(blobs, other), 'a\n');
  });

  it('have a container as soon as logging is switched on', async (t) => {
    const { store, blobs, logs } = await openLogs(t);
    const properties = new ServicePropertiesService(store, {
      onLogging: (account) => logs.open(account),
    });
    const logging = {
      version: '1.0',
      read: false,
      write: false,
      delete: false,
      retention: { enabled: false },
    };
    await properties.set('queue', 'acct', { logging });
    const address = { account: 'acct', container: '$logs' };
    await assert.rejects(blobs.containers.get(address, {}));
    await properties.set('queue', 'acct', { logging: { ...logging, delete: true } });
    await properties.set('table', 'acct', { logging: { ...logging, read: true } });
    const { publicAccess } = await blobs.containers.get(address, {});
    assert.equal(publicAccess, 'none');
  });
});
