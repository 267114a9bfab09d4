import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { BlobServiceClient } from '@azure/storage-blob';
import { manualClock } from '../../src/base/clock.js';
import { systemRandomness } from '../../src/base/randomness.js';
import { systemTimers } from '../../src/base/async/timers.js';
import { Instant } from '../../src/modeling/index.js';
import type { LogBuffering } from '../../src/modeling/patterns/log-data/buffered-log-writer.js';
import { openLogBlobs, type LogBlobs } from '../../src/modeling/patterns/log-data/log-blobs.js';
import type { LogFormat } from '../../src/modeling/patterns/log-data/log-lines.js';
import { logReaderOf } from '../../src/modeling/patterns/log-data/log-reader.js';
import { logWriterOf } from '../../src/modeling/patterns/log-data/log-writer.js';
import { startBlobs } from '../support/blob-backend.js';
import { crashEverywhere } from './support/crash-points.js';
import { manualTime } from './support/manual-timers.js';
import { costly } from '../support/run-length.js';

const started = await startBlobs();
after(() => started[Symbol.asyncDispose]());
const service = BlobServiceClient.fromConnectionString(started.connectionString, {
  retryOptions: { maxTries: 1 },
});
let containers = 0;

/** A new container, and the requests sent to it. */
async function newBlobs() {
  containers += 1;
  const container = service.getContainerClient(`log${containers}`);
  await container.create();
  const blobs = openLogBlobs(container);
  const requests: string[] = [];
  const counted = new Proxy(blobs, {
    get(target, name: keyof LogBlobs) {
      return (...given: never[]) => {
        requests.push(name);
        return Reflect.apply(target[name], target, given);
      };
    },
  });
  return {
    container,
    blobs,
    counted,
    takeRequests: () => requests.splice(0),
  };
}

const format: LogFormat<'operation' | 'status'> = { columns: ['operation', 'status'] };
const at = (text: string) => Instant.parse(`2014-07-31T${text}Z`);
const day = { from: at('00:00:00'), to: Instant.parse('2014-08-01T00:00:00Z') };
const never: LogBuffering = {
  ageMsMax: 86_400_000,
  onError: (error) => {
    throw error;
  },
};

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

async function operations(blobs: LogBlobs, source = 'queue'): Promise<(string | undefined)[]> {
  const records = await collect(logReaderOf({ blobs, source, format }).read(day));
  return records.map(({ operation }) => operation);
}

async function names(blobs: LogBlobs, source = 'queue'): Promise<string[]> {
  const found = await collect(logReaderOf({ blobs, source, format }).find(day));
  return found.map(({ name }) => name);
}

describe('a buffered log', () => {
  it('writes one blob for many records, named and marked by their times', async () => {
    const { blobs, counted, takeRequests } = await newBlobs();
    const log = logWriterOf({ blobs: counted, source: 'queue', format, mode: never });
    await log.write({ time: at('18:10:00.0000002'), operation: 'Put', status: '201' });
    await log.write({ time: at('18:05:00'), operation: 'Get' });
    await log.write({ time: at('18:20:00.1'), operation: 'Delete', status: '204' });
    assert.deepEqual(takeRequests(), []);
    await log.close();
    assert.deepEqual(takeRequests(), ['list', 'put']);
    const reader = logReaderOf({ blobs, source: 'queue', format });
    const [found] = await collect(reader.find(day));
    assert.deepEqual(
      { ...found, bytes: 0 },
      {
        name: 'queue/2014/07/31/1800/000001.log',
        bytes: 0,
        first: at('18:05:00'),
        last: at('18:20:00.1'),
        records: 3,
      },
    );
    assert.equal(
      Buffer.from(await blobs.read('queue/2014/07/31/1800/000001.log')).toString(),
      '2014-07-31T18:10:00.0000002Z;Put;201\n' +
        '2014-07-31T18:05:00Z;Get;\n' +
        '2014-07-31T18:20:00.1Z;Delete;204\n',
    );
  });

  it('begins a new blob with each hour and with each full buffer', async () => {
    const { blobs } = await newBlobs();
    const mode: LogBuffering = { ...never, bytesMax: 1024 };
    const log = logWriterOf({ blobs, source: 'queue', format, mode });
    const operation = 'x'.repeat(400);
    for (const time of ['17:59:59', '18:00:00', '18:00:01', '18:00:02', '18:00:03']) {
      await log.write({ time: at(time), operation });
    }
    await log.close();
    assert.deepEqual(await names(blobs), [
      'queue/2014/07/31/1700/000001.log',
      'queue/2014/07/31/1800/000001.log',
      'queue/2014/07/31/1800/000002.log',
    ]);
    assert.equal((await operations(blobs)).length, 5);
  });

  it('writes a buffer that has become old, without being asked', async () => {
    const { blobs } = await newBlobs();
    const time = manualTime(manualClock());
    const mode: LogBuffering = { ...never, ageMsMax: 5000 };
    let told: () => void = () => undefined;
    const written = new Promise<void>((resolve) => {
      told = resolve;
    });
    const telling: LogBlobs = {
      ...blobs,
      put: (name, body, metadata) => blobs.put(name, body, metadata).finally(told),
    };
    const log = logWriterOf({ blobs: telling, source: 'queue', format, mode, timers: time });
    await log.write({ time: at('18:00:00'), operation: 'first' });
    await time.pass(4999);
    assert.deepEqual(await names(blobs), []);
    await time.pass(1);
    await written;
    assert.deepEqual(await operations(blobs), ['first']);
    assert.deepEqual(time.waiting, []);
    await log.close();
  });

  it('lets writers wait when the service does not keep up, and loses nothing', async () => {
    const { blobs } = await newBlobs();
    const mode: LogBuffering = { ...never, bytesMax: 1024 };
    const log = logWriterOf({ blobs, source: 'queue', format, mode });
    const sent = Array.from({ length: 60 }, (_, index) => `${index}`.padEnd(200, '.'));
    await Promise.all(sent.map((operation) => log.write({ time: at('18:00:00'), operation })));
    await log.close();
    assert.deepEqual(new Set(await operations(blobs)), new Set(sent));
    assert.equal((await operations(blobs)).length, sent.length);
  });

  it('keeps records that could not be written, tells of it, and writes them next time', async () => {
    const { blobs } = await newBlobs();
    const errors: unknown[] = [];
    let isDown = true;
    const failing: LogBlobs = {
      ...blobs,
      put: (name, body, metadata) =>
        isDown ? Promise.reject(new Error('no answer')) : blobs.put(name, body, metadata),
    };
    const mode = { onError: (error: unknown) => errors.push(error), ageMsMax: 86_400_000 };
    const log = logWriterOf({ blobs: failing, source: 'queue', format, mode });
    await log.write({ time: at('18:00:00'), operation: 'a' });
    await log.write({ time: at('19:00:00'), operation: 'b' });
    await assert.rejects(log.flush(), /no answer/);
    isDown = false;
    await log.write({ time: at('19:00:01'), operation: 'c' });
    await log.close();
    assert.deepEqual(await operations(blobs), ['a', 'b', 'c']);
    assert.match(String(errors[0]), /no answer/);
    await assert.rejects(log.write({ operation: 'late' }), /closed/);
  });

  it('has stored at its close what writes that waited for the service hand over', async () => {
    const { blobs } = await newBlobs();
    const mode: LogBuffering = { ...never, bytesMax: 1024 };
    const log = logWriterOf({ blobs, source: 'queue', format, mode });
    const sent = Array.from({ length: 12 }, (_, index) => `${index}`.padEnd(900, '.'));
    const writes = sent.map((operation) => log.write({ time: at('18:00:00'), operation }));
    await log.close();
    const stored = await operations(blobs);
    assert.deepEqual([stored.length, new Set(stored)], [sent.length, new Set(sent)]);
    await Promise.all(writes);
  });

  it('flushes what was written before, not what is written meanwhile', async () => {
    const { blobs } = await newBlobs();
    let puts = 0;
    let goesOn = true;
    const busy: LogBlobs = {
      ...blobs,
      put: async (name, body, metadata) => {
        puts += 1;
        if (goesOn && puts < 50) writeTwo();
        return blobs.put(name, body, metadata);
      },
    };
    const mode: LogBuffering = { ...never, bytesMax: 1024 };
    const log = logWriterOf({ blobs: busy, source: 'queue', format, mode });
    const operation = 'x'.repeat(900);
    const writeTwo = (): void => {
      for (const time of ['18:00:00', '18:00:01']) void log.write({ time: at(time), operation });
    };
    writeTwo();
    await log.flush();
    goesOn = false;
    const flushed = puts;
    await log.close();
    assert.ok(flushed < 10, `${flushed} puts`);
    assert.equal((await operations(blobs)).length, puts);
  });

  it('shares a source with other writers', costly(), async () => {
    const { blobs } = await newBlobs();
    const writers = Array.from({ length: 8 }, () =>
      logWriterOf({ blobs, source: 'queue', format, mode: never }),
    );
    await Promise.all(
      writers.map(async (log, index) => {
        for (const round of [1, 2]) {
          await log.write({ time: at('18:00:00'), operation: `${index} ${round}` });
          await log.flush();
        }
      }),
    );
    const found = await names(blobs);
    assert.equal(found.length, 16);
    assert.equal(found.at(-1), 'queue/2014/07/31/1800/000016.log');
    assert.equal(new Set(await operations(blobs)).size, 16);
  });
});

describe('an immediate log', () => {
  it('has stored a record when its write resolves, in one append', async () => {
    const { blobs, counted, takeRequests } = await newBlobs();
    const log = logWriterOf({ blobs: counted, source: 'queue', format, mode: 'immediate' });
    await log.write({ time: at('18:10:00'), operation: 'first' });
    assert.deepEqual(takeRequests(), ['list', 'create', 'append']);
    assert.deepEqual(await operations(blobs), ['first']);
    await log.write({ time: at('18:05:00'), operation: 'second' });
    assert.deepEqual(takeRequests(), ['append']);
    assert.deepEqual(await operations(blobs), ['first', 'second']);
    await log.close();
    assert.deepEqual(takeRequests(), ['setMetadata']);
    const [found] = await collect(logReaderOf({ blobs, source: 'queue', format }).find(day));
    assert.deepEqual(
      [found?.first.toString(), found?.last?.toString(), found?.records],
      ['2014-07-31T18:05:00Z', '2014-07-31T18:10:00Z', 2],
    );
  });

  it('flushes what was written before, not what is written meanwhile', async () => {
    const { blobs } = await newBlobs();
    let appends = 0;
    let goesOn = true;
    const busy: LogBlobs = {
      ...blobs,
      append: async (name, body, position) => {
        appends += 1;
        if (goesOn && appends < 50) void log.write({ time: at('18:00:00'), operation: 'more' });
        return blobs.append(name, body, position);
      },
    };
    const log = logWriterOf({ blobs: busy, source: 'queue', format, mode: 'immediate' });
    void log.write({ time: at('18:00:00'), operation: 'first' });
    await log.flush();
    goesOn = false;
    const flushed = appends;
    await log.close();
    assert.ok(flushed < 10, `${flushed} appends`);
    assert.equal((await operations(blobs)).length, appends);
  });

  it('tells who flushes that a record was not stored', async () => {
    const { blobs } = await newBlobs();
    let failures = 1;
    const failing: LogBlobs = {
      ...blobs,
      append: (name, body, position) =>
        failures-- > 0
          ? Promise.reject(new Error('no answer'))
          : blobs.append(name, body, position),
    };
    const log = logWriterOf({ blobs: failing, source: 'queue', format, mode: 'immediate' });
    const lost = assert.rejects(
      log.write({ time: at('18:00:00'), operation: 'lost' }),
      /no answer/,
    );
    // Of another hour, so that it gets an append of its own.
    void log.write({ time: at('19:00:00'), operation: 'kept' });
    await assert.rejects(log.flush(), /no answer/);
    await lost;
    assert.deepEqual(await operations(blobs), ['kept']);
    await log.close();
  });

  it('stores what is written at the same time together, in order', async () => {
    const { blobs, counted, takeRequests } = await newBlobs();
    const log = logWriterOf({ blobs: counted, source: 'queue', format, mode: 'immediate' });
    const sent = Array.from({ length: 50 }, (_, index) => String(index));
    await Promise.all(sent.map((operation) => log.write({ time: at('18:00:00'), operation })));
    assert.deepEqual(takeRequests(), ['list', 'create', 'append']);
    assert.deepEqual(await operations(blobs), sent);
    await log.close();
  });

  it('goes on to a new blob with each hour, and completes the one it leaves', async () => {
    const { blobs } = await newBlobs();
    const log = logWriterOf({ blobs, source: 'queue', format, mode: 'immediate' });
    await log.write({ time: at('18:59:59'), operation: 'a' });
    await log.write({ time: at('19:00:00'), operation: 'b' });
    const found = await collect(logReaderOf({ blobs, source: 'queue', format }).find(day));
    assert.deepEqual(
      found.map(({ name, last }) => [name, last?.toString()]),
      [
        ['queue/2014/07/31/1800/000001.log', '2014-07-31T18:59:59Z'],
        ['queue/2014/07/31/1900/000001.log', undefined],
      ],
    );
    await log.close();
  });

  it('writes a record once though the client repeats an append that had succeeded', async () => {
    const { blobs } = await newBlobs();
    const repeating: LogBlobs = {
      ...blobs,
      append: async (name, body, position) => {
        await blobs.append(name, body, position);
        return blobs.append(name, body, position);
      },
    };
    const log = logWriterOf({ blobs: repeating, source: 'queue', format, mode: 'immediate' });
    for (const operation of ['a', 'b', 'c']) {
      await log.write({ time: at('18:00:00'), operation });
    }
    await log.close();
    assert.deepEqual(await operations(blobs), ['a', 'b', 'c']);
  });

  it('never says that a record is stored when others change each blob that it appends to', async () => {
    const { blobs } = await newBlobs();
    let intrusions = 2;
    const intruded: LogBlobs = {
      ...blobs,
      append: async (name, body, position) => {
        if (intrusions > 0) await blobs.append(name, Buffer.from('other\n'), position);
        intrusions -= 1;
        return blobs.append(name, body, position);
      },
    };
    const log = logWriterOf({ blobs: intruded, source: 'queue', format, mode: 'immediate' });
    await log.write({ time: at('18:00:00'), operation: 'kept' });
    intrusions = 9;
    const refused = log.write({ time: at('18:00:01'), operation: 'refused' });
    await assert.rejects(refused, /changed by somebody else/);
    const texts = await Promise.all(
      (await blobs.list('')).blobs.map(async ({ name }) => String(await blobs.read(name))),
    );
    assert.equal(texts.filter((text) => text.includes('kept')).length, 1);
  });

  it('goes on in another blob after a failure, and tells the writer of the failed record', async () => {
    const { blobs } = await newBlobs();
    let failures = 1;
    const failing: LogBlobs = {
      ...blobs,
      append: (name, body, position) =>
        failures-- > 0
          ? Promise.reject(new Error('no answer'))
          : blobs.append(name, body, position),
    };
    const log = logWriterOf({ blobs: failing, source: 'queue', format, mode: 'immediate' });
    await assert.rejects(log.write({ time: at('18:00:00'), operation: 'lost' }), /no answer/);
    await log.write({ time: at('18:00:00'), operation: 'kept' });
    await log.close();
    assert.deepEqual(await operations(blobs), ['kept']);
  });
});

describe('searching a log', () => {
  it('finds the records of a time, listing only its prefixes', async () => {
    const { blobs, counted, takeRequests } = await newBlobs();
    const log = logWriterOf({ blobs, source: 'queue', format, mode: never });
    for (const time of ['16:30:00', '17:30:00', '18:30:00', '18:45:00']) {
      await log.write({ time: at(time), operation: time });
      await log.flush();
    }
    await log.close();
    const reader = logReaderOf({ blobs: counted, source: 'queue', format });
    const time = { from: at('17:30:00'), to: at('18:45:00') };
    const records = await collect(reader.read(time));
    assert.deepEqual(
      records.map(({ operation }) => operation),
      ['17:30:00', '18:30:00'],
    );
    // One listing for each hour; metadata shows that the blob of 18:45 is not needed.
    assert.deepEqual(takeRequests(), ['list', 'read', 'list', 'read']);
    await collect(reader.find(day));
    assert.deepEqual(takeRequests(), ['list']);
  });

  it('leaves blobs of others alone, and refuses a blob that is cut off', async () => {
    const { blobs, container } = await newBlobs();
    const put = (name: string, body: string, metadata = {}) =>
      container.getBlockBlobClient(name).upload(body, body.length, { metadata });
    await put('queue/2014/07/31/1800/readme.txt', 'hello');
    await put('queue/2014/07/31/1800/000009.log', 'not of this log');
    await put('queues/2014/07/31/1800/000001.log', 'of another source');
    assert.deepEqual(await names(blobs), []);
    const metadata = { FirstTime: '2014-07-31T18:00:00Z' };
    await put('queue/2014/07/31/1800/000001.log', '2014-07-31T18:00:00Z;Put;20', metadata);
    await assert.rejects(operations(blobs), /000001\.log ends within a line/);
  });
});

describe('a log after a crash at any request', () => {
  interface World {
    readonly blobs: LogBlobs;
    /** Operations of records whose write or flush has resolved. */
    readonly acknowledged: string[];
  }
  const prepare = async (): Promise<World> => ({
    ...(await newBlobs()),
    acknowledged: [],
  });
  const sent = ['a', 'b', 'c'];
  const times: Readonly<Record<string, Instant>> = {
    a: at('18:00:00'),
    b: at('18:30:00'),
    c: at('19:00:00'),
  };

  /**
   * Checks that every acknowledged record is there once, that none is there twice, and that another
   * process can go on.
   */
  async function check({ blobs, acknowledged }: World): Promise<void> {
    const found = await operations(blobs);
    assert.equal(new Set(found).size, found.length, `${found.join(' ')} has something twice`);
    assert.deepEqual(
      acknowledged.filter((operation) => !found.includes(operation)),
      [],
    );
    assert.ok(found.includes('after'));
  }

  const recover = async ({ blobs }: World): Promise<void> => {
    const log = logWriterOf({ blobs, source: 'queue', format, mode: never });
    await log.write({ time: at('18:45:00'), operation: 'after' });
    await log.close();
  };

  it('keeps what a buffered writer flushed, and nothing twice though it tries again', async () => {
    const requests = await crashEverywhere<World>({
      prepare,
      run: async ({ blobs, acknowledged }, doomed) => {
        const timers = { start: () => ({ close: () => undefined }) };
        const parts = { source: 'queue', format, mode: never, timers };
        const log = logWriterOf({ blobs: doomed.wrap(blobs), ...parts });
        for (const operation of sent) {
          await log.write({ time: times[operation] ?? at('18:00:00'), operation });
          await log.flush().catch(() => log.flush());
          acknowledged.push(operation);
        }
      },
      recover,
      check,
    });
    assert.deepEqual(requests, ['list', 'put', 'put', 'list', 'put']);
  });

  it('keeps what an immediate writer wrote', async () => {
    const requests = await crashEverywhere<World>({
      prepare,
      run: async ({ blobs, acknowledged }, doomed) => {
        const parts = { source: 'queue', format, mode: 'immediate' as const };
        const log = logWriterOf({ blobs: doomed.wrap(blobs), ...parts });
        for (const operation of sent) {
          await log.write({ time: times[operation] ?? at('18:00:00'), operation });
          acknowledged.push(operation);
        }
        await log.close();
      },
      recover,
      check,
    });
    assert.equal(
      requests.join(' '),
      'list create append append setMetadata list create append setMetadata',
    );
  });
});

it('a log writer refuses what no log can hold, before it sends anything', async () => {
  const { counted, takeRequests } = await newBlobs();
  const make =
    (mode: LogBuffering, source = 'queue') =>
    () =>
      logWriterOf({ blobs: counted, source, format, mode });
  assert.throws(make(never, 'no source'), { name: 'ValueError' });
  assert.throws(make({ ...never, bytesMax: 0 }), /bytesMax of 0/);
  assert.throws(make({ ...never, ageMsMax: -1 }), /ageMsMax of -1/);
  const parts = { timers: systemTimers, randomness: systemRandomness, clock: manualClock() };
  const log = logWriterOf({ blobs: counted, source: 'queue', format, mode: never, ...parts });
  await assert.rejects(log.write({ operation: 'x'.repeat(2 ** 20) }), /longer than 1048576/);
  await log.close();
  assert.deepEqual(takeRequests(), []);
});
