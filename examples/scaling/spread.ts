// Spreads a table that grows over three stores, moves a part of it while it is written, kills the
// process that moves, and looks whether everything is there.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { RestError, TableClient, type TableEntity } from '@azure/data-tables';
import { createServer } from '../../src/app/index.js';

const tabularium = fileURLToPath(new URL('../../../bin/tabularium.js', import.meta.url));
const run = promisify(execFile);

/** Requests that are made at the same time. */
const writers = 8;
/** Rows that are there before the table is cut. */
const rowsBefore = 400;
/** How often a line says how far it is, in milliseconds. */
const tellEveryMs = 2_000;

export interface Spreading {
  /** Where the stores are made. */
  readonly folder: string;
  /** What is written, without an end. */
  readonly rows: Iterator<TableEntity<object>>;
  /** For how long the table grows before the mover is killed. */
  readonly growMs: number;
  /** Whether a process that moves a range is killed. A server goes on with it ten seconds later. */
  readonly kills: boolean;
  readonly tell: (text: string) => void;
}

export interface Spread {
  /** Rows that the server has acknowledged. */
  readonly acknowledged: number;
  /** Those that are not there in the end, or are there twice. */
  readonly wrong: number;
  /** The stores that have ranges, in the order of the ranges. */
  readonly stores: readonly string[];
}

/** What `GET /partitions` answers, as far as it is used here. */
interface Listed {
  readonly ranges: readonly { readonly range: number; readonly store: string }[];
  readonly operations: readonly { readonly operation: number; readonly step?: string }[];
}

export async function spread(spreading: Spreading): Promise<Spread> {
  const { folder, growMs, kills, tell } = spreading;
  const place = (name: string) => ({ location: join(folder, name) });
  const data = { ...place('home'), stores: { b: place('b'), c: place('c') } };
  const config = join(folder, 'tabularium.json');
  await writeFile(config, JSON.stringify({ ...data, journal: 'off' }));
  // Without a journal, other processes may work on the directories, such as those of the commands.
  await using server = await createServer({ ...data, journal: 'off', controlPort: 0 });
  const listed = async (): Promise<Listed> => {
    const answer = await fetch(`http://127.0.0.1:${server.controlPort ?? 0}/partitions`);
    return (await answer.json()) as Listed;
  };
  const partition = async (...words: readonly string[]): Promise<void> => {
    tell(`\n$ tabularium partition ${words.join(' ')}`);
    const { stdout } = await run(process.execPath, [
      tabularium,
      'partition',
      ...words,
      '--config',
      config,
    ]);
    tell(stdout.trimEnd());
  };
  tell(`Three stores, home, b and c, are in ${folder}.`);
  tell(`One server has them: ${server.connectionString()}`);
  tell(`Each command below ran with --config ${config}, which is left out.`);
  const table = TableClient.fromConnectionString(server.connectionString(), 'cities', {
    allowInsecureConnection: true,
  });
  await table.createTable();
  const writing = new Writing(table, spreading.rows);
  try {
    while (writing.acknowledged.size < rowsBefore) await writing.some();
    tell(`\nThe table 'cities' has ${rowsBefore} rows. It is cut twice, between partitions:`);
    await partition('split', String((await listed()).ranges.at(-1)?.range));
    await partition('split', String((await listed()).ranges.at(-1)?.range));
    const [, , second, third] = (await listed()).ranges;
    writing.start();
    tell(`\nFrom now on ${writers} requests at a time write. Two parts move away meanwhile:`);
    await partition('move', String(second?.range), '--to', 'b');
    await partition('move', String(third?.range), '--to', 'c');
    tell('\nThe table grows in all three stores:');
    const grown = pause(growMs);
    await waiting(grown, () => tell(`  ${writing.told}`));
    await partition('list', '--sizes');
    if (kills) await moveAndKill(String(second?.range), { config, listed, tell });
  } finally {
    await writing.stop();
  }
  await partition('verify');
  const wrong = await wrongRows(table, writing.acknowledged);
  const { acknowledged } = writing;
  tell(`\n${writing.told}`);
  tell(`Of the acknowledged, ${wrong} are not there, or there twice.`);
  const stores = (await listed()).ranges.map(({ store }) => store);
  return { acknowledged: acknowledged.size, wrong, stores };
}

/** Writes rows and notes which the server has acknowledged. */
class Writing {
  readonly acknowledged = new Set<string>();
  /** Requests that were answered with 503, after the client had repeated them. */
  refused = 0;
  readonly #table: TableClient;
  readonly #rows: Iterator<TableEntity<object>>;
  #works: Promise<PromiseSettledResult<void>[]> | undefined;
  #isOver = false;

  constructor(table: TableClient, rows: Iterator<TableEntity<object>>) {
    this.#table = table;
    this.#rows = rows;
  }

  get told(): string {
    return `${this.acknowledged.size} rows were acknowledged, ${this.refused} refused.`;
  }

  async some(): Promise<void> {
    await Promise.all(Array.from({ length: writers }, () => this.#one()));
  }

  start(): void {
    const work = async (): Promise<void> => {
      while (!this.#isOver) await this.#one();
    };
    this.#works = Promise.allSettled(Array.from({ length: writers }, work));
  }

  /** Rejects when a request was refused. */
  async stop(): Promise<void> {
    this.#isOver = true;
    for (const result of (await this.#works) ?? []) {
      if (result.status === 'rejected') throw result.reason;
    }
  }

  async #one(): Promise<void> {
    const { value, done } = this.#rows.next();
    if (done === true) {
      await pause(10);
      return;
    }
    const { partitionKey, rowKey } = value;
    try {
      await this.#table.createEntity(value);
      this.acknowledged.add(`${partitionKey}/${rowKey}`);
    } catch (error) {
      // A range whose mover was killed may be away for longer than requests wait: nothing was done.
      const isBusy = error instanceof RestError && error.statusCode === 503;
      if (!isBusy) throw error;
      this.refused += 1;
    }
  }
}

/** Says how far it is while something is waited for. */
async function waiting(work: Promise<unknown>, say: () => void): Promise<void> {
  const timer = setInterval(say, tellEveryMs);
  try {
    await work;
  } finally {
    clearInterval(timer);
  }
}

interface Killing {
  readonly config: string;
  readonly listed: () => Promise<Listed>;
  readonly tell: (text: string) => void;
}

/** Lets a process move a range, kills it, and waits until a server has ended what it began. */
async function moveAndKill(range: string, { config, listed, tell }: Killing): Promise<void> {
  const words = ['partition', 'move', range, '--to', 'c'];
  tell(`\n$ tabularium ${words.join(' ')}`);
  const mover = spawn(process.execPath, [tabularium, ...words, '--config', config], {
    stdio: 'ignore',
  });
  const exited = once(mover, 'exit');
  while ((await listed()).operations.length === 0 && mover.exitCode === null) await pause(2);
  const [operation] = (await listed()).operations;
  mover.kill('SIGKILL');
  await exited;
  if (operation === undefined) return tell('It was over before it could be killed.');
  tell(`Killed with -9, at the step '${operation.step ?? ''}'.`);
  tell('The server goes on with it when nobody has for ten seconds:');
  const isOver = async (): Promise<void> => {
    while ((await listed()).operations.length > 0) await pause(100);
  };
  const since = Date.now();
  await waiting(isOver(), () => tell(`  ${Math.round((Date.now() - since) / 1_000)} s`));
  const { store } = (await listed()).ranges.find((each) => String(each.range) === range) ?? {};
  tell(`It is over: range ${range} is in the store ${store ?? ''}.`);
}

/** Acknowledged rows that are not there, or are there twice. */
async function wrongRows(table: TableClient, acknowledged: ReadonlySet<string>): Promise<number> {
  const missing = new Set(acknowledged);
  let twice = 0;
  const select = ['PartitionKey', 'RowKey'];
  const seen = new Set<string>();
  for await (const { partitionKey, rowKey } of table.listEntities({ queryOptions: { select } })) {
    const name = `${partitionKey ?? ''}/${rowKey ?? ''}`;
    if (seen.has(name)) twice += 1;
    seen.add(name);
    missing.delete(name);
  }
  return missing.size + twice;
}
