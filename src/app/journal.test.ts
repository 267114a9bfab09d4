import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import { temporaryLocation } from '../../test/support/engine-lmdb.js';
import { createServer } from './server.js';

const run = promisify(execFile);

/** What another process gets that joins the directory as a worker. */
async function joinFromOutside(location: string): Promise<string> {
  const module = new URL('server.js', import.meta.url).href;
  const program = `
    import { createWorkerServer } from ${JSON.stringify(module)};
    const location = ${JSON.stringify(location)};
    await createWorkerServer({ location }).then(
      async (server) => { await server.close(); console.log('joined'); },
      (error) => console.log(error.name, error.reason, error.message),
    );`;
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', program]);
  return stdout.trim();
}

describe('a server with a journal', () => {
  it('shares its data directory with no worker', async (t) => {
    const { directory, remove } = await temporaryLocation();
    t.after(remove);
    const owner = await createServer({ location: directory, journal: 'on' });
    const refused = /^DataDirectoryError in-use .* keeps a journal.*without --journal on/;
    assert.match(await joinFromOutside(directory), refused);
    await owner.close();
    const without = await createServer({ location: directory });
    assert.equal(await joinFromOutside(directory), 'joined');
    await without.close();
  });
});
