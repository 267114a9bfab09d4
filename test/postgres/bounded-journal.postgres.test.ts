import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { OnlineMigration } from '../../src/app/migration/online/online-migration.js';
import { WatchedStore } from '../../src/app/moves/watched-store.js';
import { systemTimers } from '../../src/base/async/timers.js';
import { systemClock as clock } from '../../src/base/clock.js';
import { systemRandomness } from '../../src/base/randomness.js';
import { openMemoryContent } from '../../src/content/memory/content.js';
import { DiskFiles } from '../../src/engines/journal/disk-files.js';
import { openJournaledStore } from '../../src/engines/journal/store.js';
import { openLmdbStore } from '../../src/engines/lmdb/store.js';
import { keyOf } from '../power-loss/work.js';
import { postgresUnderTest } from '../support/engine-postgres.js';
import { postgresOfSuite } from '../support/postgres-of-suite.js';
import { withoutPostgres } from '../support/postgres-server.js';
import { byLength } from '../support/run-length.js';

/** Commits wait for the data file after every few. */
const tinyJournal = {
  tableBytesMax: 20_000,
  tableRowsMax: 16,
  changesMax: 24,
  filesMax: 2,
  fileBytes: 32_768,
};
const rowsBefore = byLength({ short: 1_000, long: 20_000 });
const writers = 8;
const keysOfWriter = 200;

async function openSource(directory: string): Promise<WatchedStore> {
  const store = await openJournaledStore({
    base: await openLmdbStore({ directory, clock }),
    files: new DiskFiles({ directory, sync: true }),
    clock,
    timers: systemTimers,
    randomness: systemRandomness,
    limits: tinyJournal,
  });
  return new WatchedStore(store, systemTimers);
}

async function put(store: Pick<WatchedStore, 'commit'>, name: string, text: string): Promise<void> {
  const puts = [{ key: keyOf(name), value: Buffer.from(text) }];
  assert.ok((await store.commit({ checks: [], puts, deletes: [] })).ok);
}

/** Writes to keys of its own until the data have moved; notes what was acknowledged. */
async function write(source: WatchedStore, writer: number, acknowledged: Map<string, string>) {
  try {
    for (let count = 0; ; count += 1) {
      const name = `p${writer % 3}/${writer}-${count % keysOfWriter}`;
      await put(source, name, `${count}`);
      acknowledged.set(name, `${count}`);
    }
  } catch (error) {
    return error instanceof Error ? error.name : String(error);
  }
}

void describe('data that move from a journal at its bounds', { skip: withoutPostgres }, () => {
  const database = postgresOfSuite();

  void it('arrive whole in a database while clients write', async (t) => {
    const location = await mkdtemp(join(tmpdir(), 'tabularium-bounded-'));
    t.after(() => rm(location, { recursive: true, force: true }));
    const source = await openSource(join(location, 'from'));
    t.after(() => source.inner.close());
    const target = await postgresUnderTest({ url: database().url, clock });
    t.after(() => target.dispose());
    const acknowledged = new Map<string, string>();
    const rows = Array.from({ length: rowsBefore }, (_, index) => `p${index % 3}/row${index}`);
    await Promise.all(rows.map((name) => put(source, name, name)));
    for (const name of rows) acknowledged.set(name, name);
    const writing = Promise.all(
      Array.from({ length: writers }, (_, writer) => write(source, writer, acknowledged)),
    );
    const troubles: unknown[] = [];
    const ignore = (): void => undefined;
    const { pauseMs } = await new OnlineMigration({
      source,
      content: openMemoryContent(),
      target: target.store,
      from: { location: join(location, 'from') },
      to: { location: join(location, 'to') },
      clock,
      timers: systemTimers,
      listener: { begin: ignore, progress: ignore, trouble: (error) => troubles.push(error) },
      signal: new AbortController().signal,
    }).run();
    assert.deepEqual(new Set(await writing), new Set(['MovedError']));
    assert.deepEqual(troubles, []);
    for (const [name, text] of acknowledged) {
      const found = await target.store.get(keyOf(name));
      assert.equal(found && Buffer.from(found.value).toString(), text, name);
    }
    assert.ok(acknowledged.size > rowsBefore);
    t.diagnostic(`${acknowledged.size} keys, writes waited ${Math.round(pauseMs)} ms`);
  });
});
