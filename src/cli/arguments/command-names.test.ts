import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { CliProcess } from '../../../test/support/cli-process.js';
import { runCommand } from '../../../test/support/command-host.js';
import { commandWords } from './command-names.js';
import { UsageError } from '../terminal/failure.js';
import { buildProgram } from '../program.js';
import { costly } from '../../../test/support/run-length.js';

const commands = await buildProgram();

const words = (given: string, program = 'tabularium') =>
  commandWords(commands, ['node', `/usr/bin/${program}`, ...given.split(' ').filter(Boolean)]).join(
    ' ',
  );

describe('the commands of the command line', () => {
  it('that are not there are errors, before --help too', costly(), async () => {
    for (const given of ['table export --help', 'queue nonsense --help', 'nonsense -h']) {
      const { code, stdout, stderr } = await runCommand(given.split(' '));
      assert.equal(code, 2, given);
      assert.equal(stdout, '', given);
      assert.match(stderr, /^error: There is no command 'tabularium (table )?/, given);
    }
  });

  it('that are nearly there are named, with all that there are', () => {
    const cases: [string, RegExp][] = [
      [
        'table qeury',
        /Did you mean 'tabularium table query'\?\ntabularium table has query, insert/,
      ],
      ['help sas tabel', /Did you mean 'tabularium sas table'\?/],
      ['strat', /Did you mean 'tabularium start'\?/],
      ['xyzzy', /^There is no command 'tabularium xyzzy'\.\ntabularium has start, /],
    ];
    for (const [given, message] of cases) {
      assert.throws(
        () => words(given),
        (error) => error instanceof UsageError && message.test(error.message),
        given,
      );
    }
  });

  it('help of every command is printed with exit code 0', async () => {
    const { code, stdout } = await runCommand(['help', 'table', 'query']);
    assert.equal(code, 0);
    assert.match(stdout, /^Usage: tabularium table query /);
  });

  it('are taken as they are when they are known', () => {
    for (const given of ['', '--help', '-v', 'table', 'table --help', 'queue put x -q nonsense']) {
      assert.equal(words(given), given);
    }
  });
});

describe('scripts that start Azurite', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tabularium-names-'));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  it('start the server without a command, and by each name of Azurite', () => {
    assert.equal(words('--silent --location x'), 'start --silent --location x');
    assert.equal(words('-l x'), 'start -l x');
    for (const name of ['azurite', 'azurite-blob', 'azurite-table', 'azurite-queue']) {
      assert.equal(words(`${name} -l x`), 'start -l x');
      assert.equal(words('-l x', name), 'start -l x');
      assert.equal(words('', `${name}.js`), 'start');
      assert.equal(words('--version', name), 'start --version');
      assert.equal(words('table query', name), 'table query');
    }
  });

  const flags =
    '--silent --inMemoryPersistence --tablePort 0 --queuePort 0 --blobPort 0 ' +
    '--extentMemoryLimit 5 --loose';

  it('get the server that they know the flags of', costly(), async () => {
    const server = new CliProcess(flags.split(' '), { cwd: folder });
    await server.printed('to stop.');
    server.child.kill('SIGTERM');
    const { code, stderr } = await server.result;
    assert.equal(code, 0, stderr);
    assert.match(stderr, /--extentMemoryLimit has no effect: blobs/);
  });

  it('may find it under the name azurite', costly(), async () => {
    const bin = fileURLToPath(new URL('../../../../bin/tabularium.js', import.meta.url));
    const link = join(folder, 'azurite');
    await symlink(bin, link);
    const child = spawn(process.execPath, [link, ...flags.split(' ')], { cwd: folder });
    let printed = '';
    for await (const chunk of child.stdout) {
      printed += String(chunk);
      if (printed.includes('to stop.')) child.kill('SIGTERM');
    }
    assert.match(printed, /Press Ctrl\+C/);
  });
});
