import assert from 'node:assert/strict';
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { holdingTimers, systemTimers } from '../../../src/base/async/timers.js';
import { systemClock } from '../../../src/base/clock.js';
import { systemRandomness } from '../../../src/base/randomness.js';
import { remoteStore } from '../../../src/kv/conformance/remote-store.js';
import type { Store } from '../../../src/kv/store.js';
import { Catalogue } from '../../../src/partition/catalogue.js';
import { openPartitionedStore } from '../../../src/partition/store.js';
import { verify } from '../../../src/partition/verify.js';
import { membersOf } from '../composed-stores.js';
import { checkTable } from './kills.js';
import type { Ledger } from './ledger.js';
import { openAt, type Places } from './places.js';
import type { Point } from './points.js';
import { insertion, partitionCount, readTable, rowName, rowOf } from './table.js';

/** By how much the clock of each process is ahead of the one before: its leases are over. */
const leapMicros = 11_000_000;
const clients = ['one', 'two'];
/** Rows that each client writes between two kills, at least. */
const rowsBetween = partitionCount + 1;
const scanEvery = 10;
const program = fileURLToPath(new URL('./server-child.js', import.meta.url));

/**
 * The only process of the stores is killed at each of these moments of its own work on ranges,
 * while clients write and read. The next one ends that work without being asked. Checks that what
 * was acknowledged is there, once.
 */
export async function killServerAt(places: Places, at: readonly Point[]): Promise<void> {
  const server = new OnlyProcess(places);
  const writers = clients.map((name) => new Writer(server, name));
  try {
    await server.start();
    const works = writers.map((writer) => writer.run());
    for (const point of at) {
      for (const writer of writers) await writer.more(rowsBetween);
      await server.dieAt(point);
      await server.start();
    }
    for (const writer of writers) writer.stop();
    await Promise.all(works);
  } finally {
    await server.end();
  }
  const stores = await openAt(places, 'exclusive');
  const members = membersOf(stores);
  const common = { members, clock: systemClock, timers: holdingTimers };
  const store = await openPartitionedStore({ ...common, randomness: systemRandomness });
  try {
    checkTable(
      await readTable(store),
      writers.map(({ ledger }) => ledger),
    );
    assert.ok(writers.every(({ ledger }) => ledger.scans > 0));
    const catalogue = new Catalogue(members.home);
    assert.deepEqual(
      await verify({ catalogue, members, clock: systemClock, timers: systemTimers }),
      [],
    );
  } finally {
    await store.close();
  }
}

/** The process that has the stores; another one when it was killed. */
class OnlyProcess {
  readonly #places: Places;
  #ahead = 0;
  #child: ChildProcess | undefined;
  #store: Store | undefined;

  constructor(places: Places) {
    this.#places = places;
  }

  /** Undefined while there is none. */
  get store(): Store | undefined {
    return this.#store;
  }

  /**
   * A process that serves, and ends what the one before has left. Resolves when nothing is left.
   */
  async start(): Promise<void> {
    const child = this.#fork([]);
    const over = new Promise<void>((resolve, reject) => {
      child.on('message', (message) => void (message === 'over' && resolve()));
      child.once('exit', (code, signal) => {
        reject(new Error(`the process ended with ${code ?? signal}`));
      });
    });
    over.catch(() => undefined);
    this.#store = (await remoteStore(child)).store;
    await over;
  }

  /** Replaces the process by one that is killed at this moment of its work. */
  async dieAt(point: Point): Promise<void> {
    await this.end();
    const child = this.#fork([JSON.stringify(point)]);
    const exited = once(child, 'exit');
    this.#store = (await remoteStore(child)).store;
    const [code, signal] = await exited;
    this.#store = undefined;
    const ended = `it ended with ${String(code)} instead of being killed at`;
    assert.equal(signal, 'SIGKILL', `${ended} ${JSON.stringify(point)}`);
  }

  /** With `kill -9` as well. */
  async end(): Promise<void> {
    const child = this.#child;
    this.#store = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  }

  #fork(more: readonly string[]): ChildProcess {
    this.#ahead += leapMicros;
    const given = [JSON.stringify(this.#places), String(this.#ahead), ...more];
    const child = fork(program, given, {
      serialization: 'advanced',
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    this.#child = child;
    return child;
  }
}

/** A client of whichever process has the stores. */
class Writer {
  readonly #server: OnlyProcess;
  readonly #name: string;
  readonly #acknowledged: string[] = [];
  readonly #unknown: string[] = [];
  readonly #refused: string[] = [];
  readonly #problems: string[] = [];
  #scans = 0;
  #isOver = false;

  constructor(server: OnlyProcess, name: string) {
    this.#server = server;
    this.#name = name;
  }

  get ledger(): Ledger {
    return {
      acknowledged: this.#acknowledged,
      unknown: this.#unknown,
      refused: this.#refused,
      problems: this.#problems,
      scans: this.#scans,
    };
  }

  async run(): Promise<void> {
    for (let count = 0; !this.#isOver; count += 1) {
      await pause(1);
      const store = this.#server.store;
      if (store === undefined) continue;
      await this.#write(store, count);
      if (count % scanEvery === scanEvery - 1) await this.#scan(store);
    }
  }

  stop(): void {
    this.#isOver = true;
  }

  /** Resolves when this many more rows were acknowledged. */
  async more(rows: number): Promise<void> {
    const enough = this.#acknowledged.length + rows;
    while (this.#acknowledged.length < enough) await pause(5);
  }

  async #write(store: Store, count: number): Promise<void> {
    const partition = count % partitionCount;
    const name = `${this.#name}-${count}`;
    const row = rowName(partition, name);
    try {
      const { ok } = await store.commit(insertion(partition, name));
      if (!ok) this.#problems.push(`${row} was there before it was written`);
      this.#acknowledged.push(row);
    } catch (error) {
      if (isRefusal(error)) this.#refused.push(row);
      else this.#unknown.push(row);
      return this.#note(error);
    }
    try {
      const found = await store.get(rowOf(partition, name));
      if (found === undefined) this.#problems.push(`${row} was not there behind its commit`);
    } catch (error) {
      this.#note(error);
    }
  }

  /** A query over all ranges has each row once, and all that were acknowledged before. */
  async #scan(store: Store): Promise<void> {
    const before = [...this.#acknowledged];
    try {
      const found = await readTable(store);
      this.#scans += 1;
      for (const row of before) if (!found.has(row)) this.#problems.push(`no ${row} in a query`);
    } catch (error) {
      this.#note(error);
    }
  }

  /** A process that is gone, and a range that is away, are what is expected here. */
  #note(error: unknown): void {
    const text = String(error);
    const isExpected =
      isRefusal(error) || /CommitUnknownError|the process (?:ended|is gone)/.test(text);
    if (!isExpected) this.#problems.push(text);
  }
}

/** Errors come from another process as texts. */
function isRefusal(error: unknown): boolean {
  return String(error).includes('StoreUnavailableError');
}
