import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { dropSchema } from '../../../../test/support/engine-postgres.js';
import { byLength } from '../../../../test/support/run-length.js';
import { postgresOfSuite } from '../../../../test/support/postgres-of-suite.js';
import { postgresPrograms, withoutPostgres } from '../../../../test/support/postgres-server.js';
import { it } from '../../../base/conformance/limited-test.js';
import { systemClock } from '../../../base/clock.js';
import { systemRandomness } from '../../../base/randomness.js';
import { openLmdbStore } from '../../../engines/lmdb/store.js';
import { openPostgresStore } from '../../../engines/postgres/store.js';
import { partitionPrefix } from '../../../kv/partition-prefix.js';
import { migrate } from './migrate.js';

const program = fileURLToPath(new URL('../../../../../bin/tabularium.js', import.meta.url));
const silent = { begin: () => undefined, progress: () => undefined };
const entries = byLength({ short: 20_000, long: 200_000 });
const kills = byLength({ short: 3, long: 30 });

/** A data directory with entries of many prefixes, sizes and versions. */
async function fill(directory: string): Promise<void> {
  const store = await openLmdbStore({ directory, clock: systemClock });
  const valueOf = (at: number) => systemRandomness.bytes(at % 500 === 0 ? 30_000 : at % 300);
  for (let first = 0; first < entries; first += 1_000) {
    const page = Array.from({ length: 1_000 }, (_, offset) => {
      const at = first + offset;
      const prefix = partitionPrefix('tables', 'account', 1, `p${at % 97}`);
      const row = Buffer.alloc(at % 4_000 === 1 ? 3_000 : 8, at % 251);
      const key = Buffer.concat([prefix, row, Buffer.from(String(at))]);
      return { key, value: valueOf(at), version: 1_000_000 + ((at * 7_919) % 1_000_003) };
    });
    await store.ingest({ entries: page, deletes: [], floor: 3_000_000 });
  }
  await store.close();
}

void describe('a migration to a database', { skip: withoutPostgres }, () => {
  const server = postgresOfSuite();
  let folder = '';
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tabularium-migration-'));
    await fill(join(folder, 'data'));
  });
  after(async () => {
    await rm(folder, { recursive: true, force: true });
  });
  const urlOf = (): string => server().url;

  it('keeps all of the data there and back, however often it is killed', async () => {
    const database = { postgresUrl: urlOf(), location: join(folder, 'blobs') };
    const args = ['migrate', '--from', join(folder, 'data'), '--to', 'postgres'];
    const env = { ...process.env, TABULARIUM_POSTGRES_URL: urlOf() };
    for (let kill = 0; kill < kills; kill += 1) {
      const child = spawn(
        process.execPath,
        [program, ...args, '--to-location', database.location],
        {
          env,
          stdio: 'ignore',
        },
      );
      const exited = once(child, 'exit');
      await Promise.race([pause(randomInt(800, 2_500)), exited]);
      child.kill('SIGKILL');
      const [code, signal] = (await exited) as [number | null, string | null];
      // One that has ended before it could be killed has copied everything.
      if (signal === null) {
        assert.ok(code === 0 || kill > 0, `exit code ${code}`);
        break;
      }
    }
    const there = { location: join(folder, 'data') };
    const state = await migrate(there, database, silent).catch((error: unknown) => error);
    if (state instanceof Error) assert.match(state.message, /is not empty/);
    const back = { location: join(folder, 'back') };
    const done = await migrate(database, back, silent);
    assert.equal(done.summary.entries, entries);
    const again = await migrate(there, { location: join(folder, 'again') }, silent);
    assert.equal(again.summary.hash, done.summary.hash);
    const store = await openLmdbStore({ directory: back.location, clock: systemClock });
    assert.ok((await store.lastVersion()) >= 3_000_000);
    await store.close();
    await dropSchema(urlOf(), 'tabularium');
  });

  it('notices that its source is written to, and makes nothing in one without data', async () => {
    const source = { postgresUrl: urlOf(), postgresSchema: 'written', location: join(folder, 'w') };
    const absent = migrate(source, { location: join(folder, 'none') }, silent);
    await assert.rejects(absent, /The database has no data in the schema "written"/);
    const writer = await openPostgresStore({
      url: urlOf(),
      schema: 'written',
      clock: systemClock,
    });
    const key = Buffer.concat([partitionPrefix('tables', 'account', 1, 'p'), Buffer.from('row')]);
    await writer.commit({
      checks: [],
      puts: [{ key, value: Buffer.from('before') }],
      deletes: [],
    });
    await writer.close();
    const psql = join(postgresPrograms() ?? '', 'psql');
    const listener = {
      begin: (phase: string) => {
        // What a commit does to the slot of its prefix.
        const text = 'update written.kv_slot set last = last + 1 where last > 0';
        if (phase === 'verifying content') execFileSync(psql, [urlOf(), '-c', text]);
      },
      progress: () => undefined,
    };
    const run = migrate(source, { location: join(folder, 'changed') }, listener);
    await assert.rejects(
      run,
      /schema written was written to while it was copied\. Stop its servers/,
    );
  });
});
