import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { temporaryLocation } from '../../test/support/engine-lmdb.js';
import { sampled, costly } from '../../test/support/run-length.js';
import { WireClient } from '../../test/wire/kit/client.js';
import { journalFolder } from '../engines/journal/disk-files.js';
import { openDirectoryOwner } from './directory-owner.js';
import type { ServerOptions } from './options/table.js';
import { createServer } from './server.js';
import { settingsOf } from './settings.js';

const run = promisify(execFile);

async function newLocation(t: TestContext): Promise<string> {
  const { directory, remove } = await temporaryLocation();
  t.after(remove);
  await mkdir(directory);
  return directory;
}

async function output(program: string): Promise<string> {
  const args = ['--input-type=module', '-e', program];
  const { stdout } = await run(process.execPath, args).catch((error: { stdout: string }) => error);
  return stdout.trim();
}

const module = JSON.stringify(new URL('server.js', import.meta.url).href);

/** The result of another process that joins the directory as a worker. */
function joinFromOutside(location: string): Promise<string> {
  return output(`
    import { createWorkerServer } from ${module};
    const location = ${JSON.stringify(location)};
    await createWorkerServer({ location }).then(
      async (server) => { await server.close(); console.log('joined'); },
      (error) => console.log(error.name, error.reason, error.message),
    );`);
}

/** A server that is killed when it has made a table with a row. */
function killAfterWriting(location: string, table: string): Promise<string> {
  const entities = [{ PartitionKey: 'p', RowKey: 'r' }];
  const options: ServerOptions = { location, init: { tables: { [table]: { entities } } } };
  return output(`
    import { createServer } from ${module};
    await createServer(${JSON.stringify(options)});
    console.log('written');
    process.kill(process.pid, 'SIGKILL');`);
}

async function statusOf(port: number, table: string): Promise<number> {
  const client = new WireClient(port);
  const { status } = await client.get(table, 'p', 'r');
  client.close();
  return status;
}

describe('the journal of a server', () => {
  it('is kept where one process has durable data in a directory, unless it is off', async (t) => {
    const location = await newLocation(t);
    const folder = join(location, journalFolder);
    const kept: [object, boolean][] = [
      [{}, true],
      [{ journal: 'on' }, true],
      [{ journal: 'off' }, false],
      [{ durability: 'relaxed' }, false],
    ];
    for (const [options, isKept] of kept) {
      await using _ = await createServer({ location, ...options });
      assert.equal(existsSync(folder), isKept, JSON.stringify(options));
    }
    assert.equal(existsSync(folder), false, 'a server that has closed leaves none');
    for (const options of [{}, { journal: 'off' }] as const) {
      assert.equal(settingsOf({ inMemory: true, ...options }).journal, 'off');
    }
  });

  it('is refused in memory, which says what to do', () => {
    const wrong = /^ServerOptionsError: journal is for a data directory.*leave one of them out/;
    assert.throws(() => settingsOf({ inMemory: true, journal: 'on' }), wrong);
  });

  it('is refused with relaxed durability, which says what to do', () => {
    const relaxed: ServerOptions = { location: 'data', durability: 'relaxed', journal: 'on' };
    const wrong = /journal is for durable writes.*'relaxed': leave one of them out/;
    assert.throws(() => settingsOf(relaxed), wrong);
  });

  it('is given to the data file by the next start, whatever its mode', costly(), async (t) => {
    const location = await newLocation(t);
    const modes: ServerOptions[] = [{}, { journal: 'off' }, { durability: 'relaxed' }];
    for (const [at, mode] of sampled(modes, 1).entries()) {
      assert.equal(await killAfterWriting(location, `table${at}`), 'written');
      assert.ok(existsSync(join(location, journalFolder)));
      await using server = await createServer({ ...mode, location });
      for (let before = 0; before <= at; before += 1) {
        assert.equal(await statusOf(server.tablePort, `table${before}`), 200, `${before} ${at}`);
      }
    }
    assert.equal(await killAfterWriting(location, 'table3'), 'written');
    const owner = await openDirectoryOwner({ location });
    assert.equal(existsSync(join(location, journalFolder)), false);
    assert.equal(await joinFromOutside(location), 'joined');
    await owner.close();
  });

  it('is shared with no worker', costly(), async (t) => {
    const location = await newLocation(t);
    {
      await using _ = await createServer({ location });
      const refused = /^DataDirectoryError in-use .* keeps a journal.*with --workers, or with/;
      assert.match(await joinFromOutside(location), refused);
    }
    await using _ = await createServer({ location, journal: 'off' });
    assert.equal(await joinFromOutside(location), 'joined');
  });
});
