// Starts a Cassandra cluster of one node, or of as many as `--nodes 3` says, and runs the tests of
// packages/engine-cassandra against it. Other arguments: substrings of the test files to run. Needs
// Java 17 and Maven, and says so where they are not installed. `TABULARIUM_TEST_CASSANDRA`
// (host:port, with commas between several) takes a cluster that runs already.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../', import.meta.url));
const folder = join(root, 'packages', 'engine-cassandra');
const variable = 'TABULARIUM_TEST_CASSANDRA';

function mustRun(program, args) {
  const { status } = spawnSync(program, args, { cwd: folder, stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}

/** Installs, compiles and lints the package, over the build of this clone. */
function build() {
  if (!existsSync(join(folder, 'node_modules', 'cassandra-driver'))) {
    mustRun('npm', ['ci', '--loglevel=error']);
  }
  const own = join(folder, 'node_modules', 'tabularium');
  if (!existsSync(own)) symlinkSync(root, own, 'junction');
  const program = (name) => join(root, 'node_modules', '.bin', name);
  mustRun(program('tsc'), ['-p', 'tsconfig.json']);
  // Its types are those of the build of this clone, so `npm run lint` leaves it to this.
  mustRun(program('oxlint'), ['-c', 'oxlint.json', '--type-aware', '--deny-warnings']);
}

async function runTests(wanted, contactPoints) {
  const tests = join(folder, 'dist');
  const files = readdirSync(tests)
    .filter((file) => file.endsWith('.test.js'))
    .filter((file) => wanted.length === 0 || wanted.some((text) => file.includes(text)))
    .map((file) => join(tests, file));
  const runner = spawn(process.execPath, ['--test', '--test-concurrency=1', ...files], {
    stdio: 'inherit',
    env: { ...process.env, [variable]: contactPoints.join(',') },
  });
  const [code] = await once(runner, 'exit');
  return code ?? 1;
}

async function run(given) {
  const at = given.indexOf('--nodes');
  const count = at === -1 ? 1 : Number(given[at + 1]);
  const wanted = at === -1 ? given : given.toSpliced(at, 2);
  const running = process.env[variable];
  const { fetchCassandra, startCluster, withoutCassandra } =
    await import('../packages/engine-cassandra/cluster/cluster.js');
  const reason = running === undefined && withoutCassandra();
  if (reason) {
    process.stderr.write(`Tests of the Cassandra engine are left out. ${reason}.\n`);
    return 0;
  }
  build();
  if (running !== undefined) return runTests(wanted, running.split(','));
  await fetchCassandra();
  process.stderr.write(`Starting ${count} of Cassandra, which takes a minute each …\n`);
  const cluster = await startCluster(count);
  for (const signal of ['SIGINT', 'SIGTERM']) {
    process.once(signal, () => void cluster.stop().finally(() => process.exit(1)));
  }
  try {
    return await runTests(wanted, cluster.contactPoints);
  } finally {
    await cluster.stop();
  }
}

process.exitCode = await run(process.argv.slice(2));
