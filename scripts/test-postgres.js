// Starts a PostgreSQL server, and runs the tests of that engine, and the suites of the services over it.
// Arguments as those of test.js; with none, all of them run. Needs the programs of PostgreSQL 15 or
// newer, and says so where they are not installed.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { startPostgres, withoutPostgres } from '../dist/test/support/postgres-server.js';

/** What runs when nothing is named. */
const suites = ['.postgres.', 'test/wire/tables', 'test/wire/queues', 'test/sim/simulation'];

if (withoutPostgres !== false) {
  process.stderr.write(`Tests of the PostgreSQL engine are left out. ${withoutPostgres}.\n`);
} else {
  const server = await startPostgres();
  const given = process.argv.slice(2);
  const isNamed = given.some((argument) => argument !== '--long');
  const script = fileURLToPath(new URL('test.js', import.meta.url));
  const runner = spawn(process.execPath, [script, ...given, ...(isNamed ? [] : suites)], {
    stdio: 'inherit',
    env: { ...process.env, TABULARIUM_TEST_POSTGRES: server.url },
  });
  const [code] = await once(runner, 'exit');
  await server.dispose();
  process.exitCode = code ?? 1;
}
