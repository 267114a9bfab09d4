import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { dataFile } from '../../src/engines/lmdb/directory/file-kinds.js';
import { fillTable } from '../fill.js';
import { runLoad, type LoadResult } from '../load.js';
import { progress } from '../progress.js';
import { comesToRest } from '../rest.js';
import { startServer, type ServerProcess } from '../server-process.js';
import { makeTableWorkload, TableData } from '../table-workloads.js';
import type { TableOperation } from '../kinds.js';

/** To fill a smaller table again takes some seconds. */
const keptRowsMin = 1_000_000;
/**
 * Greater than the number of rows that a run writes, so that its rows are new in a table that is
 * used again.
 */
const rowsOfRun = 2 ** 26;
/** Longer than the time for which a journal keeps rows from the data file. */
const drainMs = 6000;

export function isWrite(kind: TableOperation): boolean {
  return kind === 'insert' || kind === 'merge' || kind === 'batch';
}

/**
 * Evicts a file that no process has open from the cache of the system. Only Linux supports this.
 */
function forget(path: string): void {
  execFileSync('dd', [`if=${path}`, 'iflag=nocache', 'count=0', 'status=none']);
}

/** A server with a table of a given number of rows. */
export class SizedServer {
  readonly rows: number;
  readonly #folder: string;
  readonly #connections: number;
  #server: ServerProcess | undefined;
  #data: TableData;
  /** Whether the journal may have rows that the data file lacks. */
  #hasWritten = true;

  constructor(rows: number, folder: string, connections: number) {
    this.rows = rows;
    this.#folder = folder;
    this.#connections = connections;
    this.#data = new TableData(rows);
  }

  get process(): ServerProcess {
    if (this.#server === undefined) throw new Error('The server does not run.');
    return this.#server;
  }

  async open(): Promise<void> {
    const nextFile = join(this.#folder, `${this.rows}.next`);
    const directory = this.#directory();
    const isKept = this.rows >= keptRowsMin && existsSync(nextFile);
    if (!isKept) rmSync(directory, { recursive: true, force: true });
    mkdirSync(directory, { recursive: true });
    await this.#start();
    if (!isKept) {
      await fillTable(this.process, this.#data, this.#connections);
      // A process that has taken batches has compiled its code for them, which costs reads a third.
      await this.stop();
      await this.#start();
    }
    const first = isKept ? Number(readFileSync(nextFile, 'utf8')) : 0;
    writeFileSync(nextFile, String(first + rowsOfRun));
    this.#data = new TableData(this.rows, first);
    await this.drained();
  }

  async stop(): Promise<void> {
    await this.#server?.stop();
    this.#server = undefined;
  }

  /** Milliseconds from the start of a process after a crash to its first answer. */
  async startAfterKill(): Promise<number> {
    await this.process.kill();
    this.#server = undefined;
    const begunMs = performance.now();
    await this.#start();
    await this.#oneRead();
    return performance.now() - begunMs;
  }

  /** Starts again when the system holds nothing of the data file in its cache. */
  async startCold(): Promise<void> {
    await this.stop();
    forget(join(this.#directory(), dataFile));
    await this.#start();
  }

  async run(kind: TableOperation, seconds: number): Promise<LoadResult> {
    const { target } = this.process;
    this.#hasWritten ||= isWrite(kind);
    const load = makeTableWorkload(kind, target, this.#data);
    // How many rows a scan finds depends on what was inserted.
    const asked = kind === 'scan' ? { ...load, marker: 'anything', occurrences: 0 } : load;
    return runLoad(target, asked, {
      connections: this.#connections,
      warmupMs: 0,
      durationMs: seconds * 1000,
    });
  }

  /** Waits until the data file has all rows of the journal. */
  async drained(): Promise<void> {
    if (this.#hasWritten) await pause(drainMs);
    this.#hasWritten = false;
    if (!(await comesToRest(this.process, pause))) progress(`${this.rows} rows: no rest`);
  }

  async #start(): Promise<void> {
    this.#server = await startServer('tabularium', 'table', { directory: this.#directory() });
  }

  async #oneRead(): Promise<void> {
    const { target } = this.process;
    const reads = makeTableWorkload('point', target, this.#data);
    let left = 1;
    const next = (connection: number): Buffer | undefined => {
      left -= 1;
      return left < 0 ? undefined : reads.next(connection);
    };
    const options = { connections: 1, warmupMs: 0, durationMs: Infinity };
    await runLoad(target, { ...reads, next }, options);
  }

  #directory(): string {
    return join(this.#folder, String(this.rows));
  }
}
