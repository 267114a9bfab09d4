// Runs the suites of the server over HTTP on servers over three stores, whose ranges split, merge
// and move at random all the time. Arguments as those of test.js; with none, all of these suites
// run.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const folders = ['auth', 'blobs', 'clients', 'http', 'queues', 'server', 'tables'];
const leftOut = new Set([
  // They set a server back, which data in several stores cannot be.
  'test/wire/auth/oauth-roles',
  'test/wire/http/cors',
  'test/wire/server/blob-snapshots',
  'test/wire/server/control',
  'test/wire/server/metrics',
  'test/wire/server/snapshots',
  // It compares two servers to the version.
  'test/wire/auth/sas-two-worlds',
]);
const suites = folders
  .flatMap((folder) =>
    readdirSync(fileURLToPath(new URL(`../test/wire/${folder}`, import.meta.url)))
      .filter((name) => /^[^.]+(\.extras)?\.test\.ts$/.test(name))
      .map((name) => `test/wire/${folder}/${name.slice(0, -'.test.ts'.length)}`),
  )
  .filter((suite) => !leftOut.has(suite));
const given = process.argv.slice(2);
const isNamed = given.some((argument) => argument !== '--long');
const script = fileURLToPath(new URL('test.js', import.meta.url));
const named = isNamed ? [] : suites.map((suite) => `${suite}.test`);
const runner = spawn(process.execPath, [script, ...given, ...named], {
  stdio: 'inherit',
  env: { ...process.env, TABULARIUM_TEST_PARTITION: '1' },
});
const [code] = await once(runner, 'exit');
process.exitCode = code ?? 1;
