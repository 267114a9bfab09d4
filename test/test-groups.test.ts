import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { temporaryDirectory } from './support/cli-server.js';
import { costly } from './support/run-length.js';

const gate = new URL('../../scripts/test-group-gate.js', import.meta.url).href;

/** Keeps its process alive, as the servers of many files do. */
const served = `
  import { createServer } from 'node:net';
  import { after, test } from 'node:test';
  const server = createServer();
  await new Promise((resolve) => server.listen(0, resolve));
  after(() => server.close());
  test('of a file that is served', () => {});
`;

/** Runs a group of files with these texts. */
async function runGroup(texts: Readonly<Record<string, string>>, limitMs: number) {
  await using directory = await temporaryDirectory();
  const addresses: string[] = [];
  for (const [name, text] of Object.entries(texts)) {
    const path = join(directory.path, name);
    await writeFile(path, text);
    addresses.push(pathToFileURL(path).href);
  }
  const group = join(directory.path, 'group.mjs');
  const call = `loadGroup(${JSON.stringify(addresses)}, ${limitMs});`;
  await writeFile(group, `import { loadGroup } from '${gate}';\n${call}\n`);
  // Otherwise the process takes itself for one of the runner of this file.
  const env = { ...process.env, NODE_TEST_CONTEXT: undefined };
  return spawnSync(process.execPath, [group], { encoding: 'utf8', env, timeout: 60_000 });
}

describe('a group of test files', () => {
  it('runs the tests of all files once the last one is loaded', async () => {
    const texts = {
      'served.mjs': served,
      'other.mjs': served.replace('is served', 'is served too'),
    };
    const { status, stdout } = await runGroup(texts, 30_000);
    assert.equal(status, 0, stdout);
    assert.match(stdout, /^ok 1 - every file of the group is loaded$/m);
    assert.match(stdout, /^# tests 3$/m);
  });

  it('fails for an error that nobody caught, and prints its stack', async () => {
    const uncaught = (name: string, text: string) => `
      import { describe, it } from 'node:test';
      import { setTimeout as wait } from 'node:timers/promises';
      describe('a suite', () => describe('of suites', () => it('${name}', async () => {
        ${text}
        await wait(50);
      })));
    `;
    const thrown = uncaught('throws late', `setTimeout(() => { throw new Error('thrown'); }, 1);`);
    const rejected = uncaught('forgets', `void Promise.reject(new Error('rejected'));`);
    for (const [name, text] of Object.entries({ thrown, rejected })) {
      const { status, stdout, stderr } = await runGroup({ [`${name}.mjs`]: text }, 30_000);
      assert.equal(status, 1, stdout);
      assert.match(
        stderr,
        new RegExp(`Nobody caught in a group of test files: Error: ${name}\n +at .*${name}[.]mjs:`),
      );
      assert.match(stdout, /^# suites 2$/m);
      // The runner does not know the test, since it follows no promises.
      assert.match(stdout, /^# pass 2$/m);
    }
  });

  it('fails by the name of a file that cannot be loaded, or waits for ever', costly(), async () => {
    const broken = `${served}\nawait Promise.reject(new Error('no port is free'));`;
    const waiting = `${served}\nawait new Promise(() => undefined);`;
    const texts = { 'broken.mjs': broken, 'waiting.mjs': waiting, 'served.mjs': served };
    const { status, stdout } = await runGroup(texts, 5_000);
    assert.equal(status, 1, stdout);
    assert.match(stdout, /broken\.mjs cannot be loaded/);
    assert.match(stdout, /no port is free/);
    assert.match(stdout, /waiting\.mjs cannot be loaded/);
    assert.match(stdout, /it was not loaded after 5000 milliseconds/);
    assert.match(stdout, /^# fail 1$/m);
    assert.match(stdout, /^# pass 3$/m);
  });
});
