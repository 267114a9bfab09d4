import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { BlobServiceClient, type ContainerClient } from '@azure/storage-blob';
import { manualClock, type ServerOptions } from '../../../src/app/index.js';
import { systemTimers, type Timers } from '../../../src/base/async/timers.js';
import { contentFolder } from '../../../src/content/files/content-directory.js';
import { garbageGraceMicros } from '../../../src/services/blobs/blob-readers.js';
import { countFiles } from '../../support/content/temporary-content.js';
import { startDurableServer, startServer, type StartedServer } from '../../support/start-server.js';
import { costly } from '../../support/run-length.js';

// Blobs whose bytes rest beside the key space, in a server that is set back to a snapshot of before
// they were replaced. The sweep must leave what a snapshot names, and take the rest.

const mebibyte = 1024 * 1024;
/** More blocks than a record names itself, each of more bytes than an entry holds. */
const blocks = 12;
const blockBytes = 40 * 1024;

interface EagerTimers extends Timers {
  /** How often something was about to be done. */
  readonly started: number;
}

/** Timers of some rounds of all steps of housekeeping. */
const stepsMany = 40;

/** Housekeeping that does not rest for seconds. */
function eagerTimers(): EagerTimers {
  let started = 0;
  return {
    get started() {
      return started;
    },
    start(delayMs, callback, argument) {
      started += 1;
      return systemTimers.start(
        delayMs <= 5_000 ? Math.min(delayMs, 5) : delayMs,
        callback,
        argument,
      );
    },
  };
}

interface Case {
  readonly name: string;
  readonly start: (options: ServerOptions) => Promise<StartedServer>;
}

const cases: readonly Case[] = [
  { name: 'in memory', start: (options) => startServer(options) },
  ...(['on', 'off'] as const).map((journal) => ({
    name: `on a directory with the journal ${journal}`,
    start: (options: ServerOptions) => startDurableServer({ ...options, journal }),
  })),
];

const filled = (bytes: number, seed: number) => Buffer.alloc(bytes, `${seed}-`);

/** Writes blobs of each kind, in place of those that are there. */
async function write(container: ContainerClient, seed: number): Promise<void> {
  const whole = filled(mebibyte, seed);
  await container.getBlockBlobClient('whole').upload(whole, whole.length);
  await container.getBlockBlobClient('small').upload(`small ${seed}`, `small ${seed}`.length);
  const pages = container.getPageBlobClient('pages');
  await pages.create(4 * mebibyte);
  await pages.uploadPages(whole, mebibyte, whole.length);
  const chunked = container.getBlockBlobClient('chunked');
  const ids = Array.from({ length: blocks }, (_, at) =>
    Buffer.from(`${100 + at}`).toString('base64'),
  );
  for (const [at, id] of ids.entries()) {
    await chunked.stageBlock(id, filled(blockBytes, seed + at), blockBytes);
  }
  await chunked.commitBlockList(ids);
  const appended = container.getAppendBlobClient('appended');
  await appended.create();
  for (let at = 0; at < 2; at += 1) {
    await appended.appendBlock(filled(blockBytes, seed + at), blockBytes);
  }
}

/** Everything that a client can read of the blobs. */
async function readAll(container: ContainerClient): Promise<unknown> {
  const all: unknown[] = [];
  for await (const { name, properties } of container.listBlobsFlat()) {
    const bytes = await container.getBlobClient(name).downloadToBuffer();
    const { etag, contentLength } = properties;
    all.push([name, etag, contentLength, createHash('sha256').update(bytes).digest('hex')]);
  }
  return all;
}

/** Waits until housekeeping has left so many files of content, or what it says of them. */
async function until(isDone: () => Promise<boolean>): Promise<void> {
  const waits = 2_000;
  for (let wait = 0; wait < waits; wait += 1) {
    if (await isDone()) return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  assert.fail('housekeeping did not come to an end');
}

for (const { name, start } of cases) {
  describe(`blobs of a server ${name} that is set back`, () => {
    it('are what they were, byte for byte, after the sweep had its time', costly(), async () => {
      const clock = manualClock(Date.now() * 1_000);
      const timers = eagerTimers();
      await using started = await start({ clock, timers, checkClockSkew: false });
      const { server, location } = started;
      const service = BlobServiceClient.fromConnectionString(server.connectionString());
      const container = service.getContainerClient('things');
      /** Until housekeeping has had its turn many times since the grace of everything was over. */
      const swept = async (): Promise<void> => {
        clock.advanceMicros(2 * garbageGraceMicros);
        const { started: before } = timers;
        await until(() => Promise.resolve(timers.started > before + stepsMany));
      };
      await container.create();
      await write(container, 1);
      const before = await readAll(container);
      await server.snapshot('base');
      await write(container, 2);
      await container.deleteBlob('whole');
      await swept();
      await server.restore('base');
      assert.deepEqual(await readAll(container), before);
      await swept();
      assert.deepEqual(await readAll(container), before);
      // When nothing keeps them any more, the bytes of both states of before are freed.
      server.deleteSnapshot('base');
      await write(container, 3);
      const now = await readAll(container);
      clock.advanceMicros(2 * garbageGraceMicros);
      const named = 1 + 1 + blocks + 2;
      if (location !== undefined) await until(async () => (await filesOf(location)) === named);
      assert.deepEqual(await readAll(container), now);
      assert.deepEqual(started.errors, []);
    });
  });
}

/** The number of extents in a data directory. */
async function filesOf(location: string): Promise<number> {
  return countFiles(join(location, contentFolder));
}
