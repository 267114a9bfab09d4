// Runs the suites of tables and queues on servers over three stores, whose ranges split, merge and
// move at random all the time. Arguments as those of test.js; with none, all of these suites run.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const suites = ['test/wire/tables', 'test/wire/queues'];
const given = process.argv.slice(2);
const isNamed = given.some((argument) => argument !== '--long');
const script = fileURLToPath(new URL('test.js', import.meta.url));
const runner = spawn(process.execPath, [script, ...given, ...(isNamed ? [] : suites)], {
  stdio: 'inherit',
  env: { ...process.env, TABULARIUM_TEST_PARTITION: '1' },
});
const [code] = await once(runner, 'exit');
process.exitCode = code ?? 1;
