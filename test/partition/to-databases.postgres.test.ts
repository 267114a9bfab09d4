import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { RemotePartitions } from '../../src/cli/partition/remote.js';
import type { CliProcess } from '../support/cli-process.js';
import {
  connectionStringOf,
  endpointOf,
  startCli,
  stopCli,
  temporaryDirectory,
} from '../support/cli-server.js';
import { runCommand } from '../support/command-host.js';
import { runSql } from '../support/engine-postgres.js';
import { postgresOfSuite } from '../support/postgres-of-suite.js';
import { withoutPostgres } from '../support/postgres-server.js';
import { byLength, costly } from '../support/run-length.js';
import { SteadyWriters } from './steady-writers.js';

const guide = new URL('../../../docs/guides/scaling.md', import.meta.url);
/** Written between two commands. */
const rowsBetween = byLength({ short: 60, long: 1_000 });

interface Path {
  readonly config: string;
  readonly commands: readonly string[];
}

/** The configuration and the commands of the guide, as readers find them. */
async function pathOfGuide(): Promise<Path> {
  const [, rest = ''] = (await readFile(guide, 'utf8')).split(
    '## From one directory to three databases\n',
  );
  const [section = ''] = rest.split(/^## /m);
  const blocksOf = (language: string): readonly string[] =>
    [...section.matchAll(new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\`$`, 'gm'))].map(
      ([, text = '']) => text,
    );
  const commands = blocksOf('sh').flatMap((block) => block.trimEnd().split('\n'));
  return { config: blocksOf('yaml').join(''), commands };
}

/** Does what the guide says, with other places. */
class Reader implements AsyncDisposable {
  readonly #folder: string;
  readonly #urls: ReadonlyMap<string, string>;
  readonly #servers: CliProcess[] = [];
  #ports: ReadonlyMap<string, string> = new Map();

  constructor(folder: string, urls: ReadonlyMap<string, string>) {
    this.#folder = folder;
    this.#urls = urls;
  }

  get server(): CliProcess {
    const [server] = this.#servers;
    assert.ok(server !== undefined);
    return server;
  }

  /** The server on the directory, which the reader has already. */
  async has(command: string): Promise<void> {
    const server = await startCli(wordsOf(this.#local(command)).slice(1));
    this.#servers.push(server);
    const ports = (['Tables', 'Queues', 'Blobs', 'Control'] as const).map(
      (label) => [label, endpointOf(server, label).port] as const,
    );
    this.#ports = new Map(ports);
  }

  async writes(config: string): Promise<void> {
    await writeFile(join(this.#folder, 'databases.yaml'), this.#local(config));
  }

  /** Replaces the server by one on the same ports. */
  async replaces(command: string): Promise<void> {
    await stopCli(this.server);
    const port = (label: string): string => this.#ports.get(label) ?? '';
    const ports = ['--table-port', port('Tables'), '--queue-port', port('Queues')];
    const same = [...ports, '--blob-port', port('Blobs')];
    this.#servers[0] = await startCli([...wordsOf(this.#local(command)).slice(1), ...same]);
  }

  async starts(command: string): Promise<void> {
    this.#servers.push(await startCli(wordsOf(this.#local(command)).slice(1)));
  }

  async runs(command: string): Promise<string> {
    const { code, stdout, stderr } = await runCommand(wordsOf(this.#local(command)));
    assert.equal(code, 0, `${command}\n${stdout}${stderr}`);
    return stdout;
  }

  get control(): RemotePartitions {
    return new RemotePartitions(Number(this.#ports.get('Control')));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const server of this.#servers) await stopCli(server);
  }

  #local(text: string): string {
    const urls = text.replace(
      /postgres:\/\/tabularium@(db-[abc])\.example:5432\/tabularium/g,
      (url) => {
        const name = /db-[abc]/.exec(url)?.[0] ?? '';
        return this.#urls.get(name) ?? '';
      },
    );
    return urls
      .replaceAll('/var/lib/tabularium', join(this.#folder, 'one'))
      .replaceAll('/srv/tabularium', join(this.#folder, 'shared'))
      .replaceAll('databases.yaml', join(this.#folder, 'databases.yaml'))
      .replaceAll('10009', this.#ports.get('Control') ?? '0')
      .replaceAll(/\b100[01]\d\b/g, '0');
  }
}

/** The words behind the name of the program. */
function wordsOf(command: string): readonly string[] {
  const [program, ...words] = command.split(' ');
  assert.equal(program, 'tabularium');
  return words;
}

void describe('the guide from one directory to three databases', { skip: withoutPostgres }, () => {
  const database = postgresOfSuite();

  void it(
    'leads there while clients write, and none of their requests fails',
    costly(),
    async (t) => {
      const { config, commands } = await pathOfGuide();
      const [first = '', migrate = '', next = '', second = '', ...spread] = commands;
      await using folder = await temporaryDirectory();
      const urls = new Map<string, string>();
      for (const name of ['db-a', 'db-b', 'db-c']) {
        await runSql(database().url, `create database "${name}"`);
        urls.set(name, database().url.replace(/postgres$/, name));
      }
      await using reader = new Reader(folder.path, urls);
      await reader.has(first);
      const writers = await SteadyWriters.start(connectionStringOf(reader.server), 'orders');
      try {
        await writers.more(rowsBetween);
        await reader.writes(config);
        t.diagnostic(await reader.runs(migrate));
        await reader.replaces(next);
        await writers.more(rowsBetween);
        await reader.starts(second);
        for (const command of spread) {
          await reader.runs(command);
          await writers.more(rowsBetween);
        }
      } finally {
        await writers.stop();
      }
      await writers.check();
      const { ranges, stores } = await reader.control.list();
      assert.deepEqual(
        ranges.map(({ store }) => store),
        ['home', 'home', 'b', 'c'],
      );
      assert.deepEqual(
        stores.map(({ location }) => /db-[abc]/.exec(location)?.[0]),
        ['db-b', 'db-c', 'db-a'],
      );
      t.diagnostic(`${writers.acknowledged} rows`);
    },
  );
});
