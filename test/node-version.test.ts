import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import { runCli } from './support/cli-process.js';
import { temporaryDirectory } from './support/cli-server.js';
import { costly } from './support/run-length.js';

async function rangeOfPackage(): Promise<string> {
  const text = await readFile(new URL('../../package.json', import.meta.url), 'utf8');
  const { engines }: { engines?: { node?: string } } = JSON.parse(text);
  return engines?.node ?? '';
}

/** Runs the program under a Node that reports another version. */
async function runUnder(version: string) {
  await using directory = await temporaryDirectory();
  const pretend = join(directory.path, 'pretend.cjs');
  const versions = `Object.assign({}, process.versions, { node: '${version}' })`;
  await writeFile(pretend, `Object.defineProperty(process, 'versions', { value: ${versions} });`);
  return await runCli(['--version'], { nodeArgs: ['-r', pretend] });
}

void it(
  'names the needed version to users of an old Node, and accepts later ones',
  costly(),
  async () => {
    const least = /(\d+)\.(\d+)/.exec(await rangeOfPackage())?.[0];
    for (const version of ['10.24.1', '18.20.8', '20.18.3']) {
      const { code, stdout, stderr } = await runUnder(version);
      assert.deepEqual([code, stdout], [1, '']);
      assert.equal(
        stderr,
        `error: tabularium needs Node.js ${least} or later; this is ${version}. ` +
          'Install a later release: https://nodejs.org\n',
      );
    }
    for (const version of ['20.19.0', '22.0.0', '100.1.0']) {
      assert.equal((await runUnder(version)).code, 0, version);
    }
  },
);
