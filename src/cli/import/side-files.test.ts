import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { link, mkdtemp, readFile, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import type { CliResult } from '../../../test/support/cli-process.js';
import { runCommand } from '../../../test/support/command-host.js';
import { startServer, type StartedServer } from '../../../test/support/start-server.js';
import { costly } from '../../../test/support/run-length.js';

// An import overwrites only files of an earlier import.

const rows = 'PartitionKey,RowKey\na,1\nb,2\n';
const skip = existsSync('/dev/full') ? false : 'there is no /dev/full';
let started: StartedServer;
let folder: string;
let input: string;

before(async () => {
  started = await startServer();
});
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tabularium-side-files-'));
  input = join(folder, 'rows.csv');
  await writeFile(input, rows);
});
afterEach(() => rm(folder, { recursive: true, force: true }));
after(() => started[Symbol.asyncDispose]());

function importInput(...args: readonly string[]): Promise<CliResult> {
  const connection = ['-c', started.server.connectionString()];
  return runCommand(['table', 'import', input, '-t', 'sides', ...connection, ...args], {
    cwd: folder,
  });
}

async function refused(args: readonly string[], reason: RegExp): Promise<void> {
  const { code, stderr } = await importInput(...args);
  assert.match(stderr, reason);
  assert.equal(code, 2);
  assert.equal(await readFile(input, 'utf8'), rows);
}

describe('files beside an import', () => {
  it('--errors is opened before the first request: no refused row is lost', costly(), async () => {
    await writeFile(input, 'PartitionKey,RowKey\na,1\nb,2,\n');
    const before = started.records.length;
    const { code, stderr } = await importInput('--errors', join('none', 'e.jsonl'));
    assert.match(stderr, /^error: --errors none\/e\.jsonl cannot be written, and nothing was/);
    assert.equal(code, 1);
    assert.equal(started.records.length, before);
  });

  it('--errors that fills its disk is an error behind the summary', { skip }, async () => {
    const bad = Array.from({ length: 5 }, (_, at) => `a,b,${at}\n`).join('');
    await writeFile(input, `PartitionKey,RowKey\na,1\n${bad}`);
    const state = join(folder, 'rows.csv.tabularium-import.json');
    const { code, stderr } = await importInput('--errors', '/dev/full', '--state', state);
    const [summary, error] = stderr.trimEnd().split('\n').slice(-2);
    assert.match(summary ?? '', /^Imported 1 row into sides .*; 5 refused\.$/);
    assert.match(error ?? '', /^error: --errors \/dev\/full lacks refused rows: ENOSPC.*--restart/);
    assert.equal(stderr.split('Warning: refused rows are not written').length, 2);
    assert.equal(code, 1);
    assert.equal(existsSync(state), false, 'the next run repeats all rows');
  });

  for (const flag of ['--errors', '--state']) {
    it(`${flag} is never the input, by any name or link`, async () => {
      await symlink(input, join(folder, 'symbolic'));
      await link(input, join(folder, 'hard'));
      for (const name of [input, './rows.csv', 'symbolic', 'hard']) {
        await refused([flag, name], /rows\.csv, which would be overwritten/);
      }
    });

    it(`${flag} leaves a foreign file as it is, with --restart too`, async () => {
      const foreign = join(folder, 'diary.txt');
      for (const text of ['Dear diary\n', '{"a":1}\n', '[]']) {
        await writeFile(foreign, text);
        await refused([flag, foreign], /diary\.txt .*Name another file/);
        await refused([flag, foreign, '--restart'], /diary\.txt .*Name another file/);
        assert.equal(await readFile(foreign, 'utf8'), text);
      }
    });
  }

  it('--errors and --state are two files', async () => {
    await refused(['--errors', 'one', '--state', './one'], /name the same file/);
  });

  it('refused rows replace those of an earlier import', async () => {
    await writeFile(input, `${rows}${'k'.repeat(600)},3\n`);
    for (let round = 0; round < 2; round++) {
      const { code } = await importInput('--errors', 'errors.jsonl');
      assert.equal(code, 1);
      const lines = (await readFile(join(folder, 'errors.jsonl'), 'utf8')).trim().split('\n');
      assert.equal(lines.length, 1);
    }
  });

  it('drafts of the state follow no link', async () => {
    const foreign = join(folder, 'diary.txt');
    await writeFile(foreign, 'Dear diary\n');
    await symlink(foreign, join(folder, 'state.json.tmp'));
    const many = Array.from({ length: 200 }, (_, row) => `p${row},1\n`).join('');
    await writeFile(input, `PartitionKey,RowKey\n${many}`);
    const { code, stderr } = await importInput('--state', 'state.json', '--concurrency', '1');
    assert.equal(code, 0, stderr);
    assert.equal(await readFile(foreign, 'utf8'), 'Dear diary\n');
    assert.deepEqual((await readdir(folder)).sort(), ['diary.txt', 'rows.csv', 'state.json.tmp']);
  });
});
