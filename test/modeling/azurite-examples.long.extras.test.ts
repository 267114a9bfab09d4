import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { after, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { startAzurite, type AzuriteService } from '../support/azurite.js';

// The programs of the guide to table design and of its patterns against Azurite: the library
// depends on nothing of this server.
// TABULARIUM_AZURITE_ROUNDS: how often each is run, by default once.

const run = promisify(execFile);
const rounds = Number(process.env['TABULARIUM_AZURITE_ROUNDS'] ?? 1);
const root = fileURLToPath(new URL('../../../', import.meta.url));
const programs = [
  'modeling.ts',
  ...readdirSync(`${root}examples/patterns`).map((file) => `patterns/${file}`),
]
  .filter((file) => file.endsWith('.ts'))
  .map((file) => file.slice(0, -'.ts'.length));

const names: readonly AzuriteService[] = ['table', 'queue', 'blob'];
const services = await Promise.all(names.map((name) => startAzurite(name)));
after(() => Promise.all(services.map((service) => service[Symbol.asyncDispose]())));

/** One account with the three services, each in a process of its own. */
const connectionString = services
  .map(({ connectionString: text }, index) =>
    index === 0 ? text : (/\w+Endpoint=[^;]*;/.exec(text)?.[0] ?? ''),
  )
  .join('');

describe('the programs of the pattern guide, with Azurite', { concurrency: 2 }, () => {
  for (const program of programs) {
    it(`${program} runs`, { timeout: 600_000 }, async () => {
      const compiled = `${root}dist/examples/${program}.js`;
      const env = { ...process.env, AZURE_STORAGE_CONNECTION_STRING: connectionString };
      for (let round = 0; round < rounds; round += 1) {
        const { stdout } = await run(process.execPath, [compiled], { env });
        assert.notEqual(stdout, '', 'a program shows what it did');
      }
    });
  }
});
