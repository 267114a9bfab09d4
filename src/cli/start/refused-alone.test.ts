import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { usageErrorOf } from '../../../test/support/start-settings.js';
import { temporaryDirectory } from '../../../test/support/cli-server.js';

/** Options that have an effect only with another one: in the file, on the command line. */
const alone: readonly [member: string, flag: string, value: string, says: RegExp][] = [
  ['postgresSchema', '--postgres-schema', 'own', /is for engine 'postgres': leave it out, or give/],
  ['postgresCommits', '--postgres-commits', 'function', /is for engine 'postgres'/],
  ['postgresReplicas', '--postgres-replicas', 'postgres://h/n', /is for engine 'postgres'/],
  ['onLostCommits', '--on-lost-commits', 'refuse', /is for engine 'postgres'/],
  ['balancer', '--balancer', 'advise', /is for data in several stores: give stores/],
];

describe('a start with an option that would have no effect', () => {
  for (const [member, flag, value, says] of alone) {
    it(`refuses it where it was given: ${member}`, async () => {
      await using directory = await temporaryDirectory();
      const file = join(directory.path, 'tabularium.json');
      await writeFile(file, JSON.stringify({ [member]: value }));
      for (const place of [['--in-memory'], ['--location', directory.path]]) {
        const onLine = await usageErrorOf(...place, flag, value);
        assert.match(onLine, says);
        assert.ok(onLine.startsWith(`${flag} `), onLine);
        const inFile = await usageErrorOf(...place, '--config', file);
        assert.match(inFile, says);
        assert.ok(inFile.includes(`tabularium.json:1:`), inFile);
      }
    });
  }

  it('refuses a journal of what is kept in memory', async () => {
    const said = await usageErrorOf('--in-memory', '--journal', 'on');
    assert.match(said, /^--journal is for a data directory, and inMemory keeps none: leave one/);
  });
});
