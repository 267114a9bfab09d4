import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Ledger } from '../crash/ledger.js';
import { blobsOf, crashContainer, runBlobLoad, type BlobLoad } from '../crash/blob-load.js';
import { settleBlobs } from '../crash/blob-settle.js';
import { createMainTable, runLoad, type Load } from '../crash/load.js';
import { isHeld, QueueLedger, type Known } from '../crash/queue-ledger.js';
import { crashQueue, runQueueLoad, type QueueLoad } from '../crash/queue-load.js';
import { settleQueue } from '../crash/queue-settle.js';
import { settle } from '../crash/settle.js';
import type { Troubles } from '../crash/unanswered.js';
import { ServerProcess, type ServerExit } from '../support/crash-server.js';
import type { SimRandom } from '../support/sim-random.js';
import { WireQueues } from '../support/wire-queues.js';
import { BlobWireClient } from '../wire/kit/blob-client.js';
import { WireClient } from '../wire/kit/client.js';
import { plainDial, type Dial } from '../wire/kit/connection.js';
import { QueueWireClient } from '../wire/kit/queue-client.js';
import { developmentAccount as account } from '../wire/kit/signature.js';
import { secureDial } from './dial.js';
import { assertStopped, shown } from './endings.js';
import { eventually, Finding, within } from './finding.js';
import { processesOf, workersOf, worldVariable } from './processes.js';

const tableConnections = 4;
const queueConnections = 3;
const blobConnections = 2;

export interface WorldOptions {
  /** 1 by default. */
  readonly workers?: number;
  /** The share of starts with a journal, among those of a single process. Most by default. */
  readonly journalShare?: number;
  readonly tls?: boolean;
  readonly flags?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** The log file: a name beside the data directory, or a path. */
  readonly logTo?: string;
}

/** Nothing may fail: connections stay open, and every request succeeds. */
export const untroubled: Troubles = { breaks: 'surprise', failures: 'surprise' };

export interface RunningLoad {
  /** Ends the load after the requests in progress. Throws a finding when a response was wrong. */
  end(): Promise<void>;
}

/**
 * A data directory, the server on it, clients that write tables, queues and blobs and record what
 * was acknowledged, and everything that must be removed in the end.
 */
export class World implements AsyncDisposable {
  readonly location: string;
  readonly random: SimRandom;
  /** For the next start. */
  workers: number;
  readonly env: Readonly<Record<string, string>>;
  readonly tables = new Ledger();
  readonly queues = new QueueLedger();
  /** Those of each connection. */
  readonly blobs = blobsOf(blobConnections);
  readonly #id = randomUUID();
  readonly #ownFlags: readonly string[];
  readonly #journalShare: number;
  #keepsJournal = false;
  #keepsVersions = false;
  readonly #folder: string;
  readonly #dial: Dial;
  readonly #logTo: string | undefined;
  #held: Known[] = [];
  #server: ServerProcess | undefined;
  /** Ports of a proxy between the clients and the server. */
  through: { readonly table: number; readonly queue: number; readonly blob?: number } | undefined;

  private constructor(folder: string, random: SimRandom, options: WorldOptions) {
    const { workers = 1, tls = false, flags = [], env = {} } = options;
    this.#folder = folder;
    this.#journalShare = options.journalShare ?? 0.7;
    this.#logTo = options.logTo === undefined ? undefined : resolve(folder, options.logTo);
    this.location = join(folder, 'data');
    this.random = random;
    this.workers = workers;
    this.#ownFlags = [...(tls ? ['--tls', 'self-signed'] : []), ...flags];
    // What the environment says of the journal would go for workers as well.
    this.env = { TABULARIUM_JOURNAL: '', ...env, [worldVariable]: this.#id };
    this.#dial = tls ? secureDial : plainDial;
  }

  /** Makes a world with a started server, a table, a queue and a container of blobs. */
  static async make(random: SimRandom, options: WorldOptions = {}): Promise<World> {
    const folder = await mkdtemp(join(tmpdir(), 'tabularium-chaos-'));
    const world = new World(folder, random, options);
    try {
      await world.start();
      const table = world.tableClient();
      await createMainTable(table, world.tables);
      table.close();
      const queue = world.queueClient();
      await new WireQueues({ [account]: queue }).createQueue(account, crashQueue, []);
      queue.close();
      const blobs = world.blobClient();
      await blobs.expect(201, { method: 'PUT', path: `/${crashContainer}?restype=container` });
      blobs.close();
      return world;
    } catch (error) {
      await world[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** True when the last start keeps a journal. */
  get keepsJournal(): boolean {
    return this.#keepsJournal;
  }

  /** The flags of the last start. */
  get flags(): readonly string[] {
    const journal = ['--journal', this.#keepsJournal ? 'on' : 'off'];
    const processes = this.workers === 1 ? journal : ['--workers', String(this.workers)];
    const versions = this.#keepsVersions ? ['--blob-versioning'] : [];
    return [...processes, ...versions, ...this.#ownFlags];
  }

  get server(): ServerProcess {
    if (this.#server === undefined) throw new Error('the server does not run');
    return this.#server;
  }

  /** A file or directory beside the data directory, removed with the world. */
  beside(name: string): string {
    return join(this.#folder, name);
  }

  /** Starts the server, which must succeed. `flags` are added to the usual ones. */
  async start(flags: readonly string[] = []): Promise<void> {
    try {
      await this.tryStart(flags);
    } catch (error) {
      throw new Finding(`does not start again: ${String(error)}`, { cause: error });
    }
  }

  /**
   * Draws whether the server keeps a journal, and versions of blobs, and starts it. Rejects with
   * `StartFailure` when it ends instead of listening.
   */
  async tryStart(flags: readonly string[] = []): Promise<void> {
    this.#keepsJournal = this.workers === 1 && this.random.chance(this.#journalShare);
    this.#keepsVersions = this.random.chance(0.5);
    const options = {
      flags: [...this.flags, ...flags],
      env: this.env,
      ...(this.#logTo === undefined ? {} : { logTo: this.#logTo }),
    };
    this.#server = await ServerProcess.start(this.location, options);
  }

  /** The ids of all workers, once all have started; empty for a single process. */
  async workerPids(): Promise<readonly number[]> {
    if (this.workers === 1) return [];
    let pids: readonly number[] = [];
    await eventually('there are all workers', () => {
      pids = workersOf(this.server.pid);
      return pids.length >= this.workers;
    });
    return pids;
  }

  tableClient(): WireClient {
    const port = this.through?.table ?? this.server.port;
    return new WireClient(port, undefined, undefined, { dial: this.#dial });
  }

  queueClient(): QueueWireClient {
    return new QueueWireClient(this.through?.queue ?? this.server.queuePort, { dial: this.#dial });
  }

  blobClient(): BlobWireClient {
    return new BlobWireClient(this.through?.blob ?? this.server.blobPort, { dial: this.#dial });
  }

  dial(): ReturnType<Dial> {
    const { port, queuePort, blobPort } = this.server;
    const ports = { table: port, queue: queuePort, blob: blobPort };
    return this.#dial(ports[this.random.weighted({ table: 5, queue: 2, blob: 3 })]);
  }

  /** Starts clients that write until `end` is called or the server ends. */
  beginLoad(troubles: Troubles): RunningLoad {
    const { random } = this;
    // Messages that an earlier load has deleted or given back are left out.
    const held = this.#held.filter(isHeld);
    const base = { random, isOver: false, surprises: [], troubles };
    const tables: Load = { ...base, ledger: this.tables };
    const queues: QueueLoad = { ...base, ledger: this.queues };
    const blobs: BlobLoad = { ...base, acknowledged: 0 };
    const stop = () => {
      for (const load of [tables, queues, blobs]) load.isOver = true;
    };
    // Another server may get these ports, and must not get these clients.
    void this.server.exit.then(stop);
    const times = <T>(count: number, make: () => T) => Array.from({ length: count }, make);
    const done = Promise.all([
      runLoad(
        tables,
        times(tableConnections, () => this.tableClient()),
      ),
      runQueueLoad(
        queues,
        times(queueConnections, () => this.queueClient()),
        held,
      ),
      ...this.blobs.map((own) => runBlobLoad(blobs, this.blobClient(), own)),
    ]).then(() => undefined);
    done.catch(() => undefined);
    return {
      end: async () => {
        stop();
        await within('clients get their answers', done.catch(asFinding));
        if (base.surprises.length > 0) throw new Finding(base.surprises.slice(0, 5).join('\n'));
      },
    };
  }

  /**
   * Runs the work. When the server ends meanwhile, that is the finding, whatever the work threw.
   */
  async whileServing<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      const ended = await Promise.race([this.server.exit, pause(1000)]);
      if (ended === undefined) throw error;
      throw new Finding(`the server ended with ${shown(ended)}`, { cause: error });
    }
  }

  /** Runs an undisturbed load for this time. */
  async loadFor(ms: number): Promise<void> {
    const load = this.beginLoad(untroubled);
    await pause(ms);
    await load.end();
  }

  /** Checks that the server is healthy and has what it acknowledged. No load may run. */
  async settle(): Promise<void> {
    await this.becomesHealthy();
    const [table, queue] = [this.tableClient(), this.queueClient()];
    const blobs = this.blobClient();
    try {
      const all = async () => {
        await settle(this.tables, table);
        this.#held = await settleQueue(this.queues, new WireQueues({ [account]: queue }));
        await settleBlobs(blobs, this.blobs.flat());
      };
      await within('everything is read', all().catch(asFinding), 2 * 60_000);
    } finally {
      table.close();
      queue.close();
      blobs.close();
    }
    const { violations } = this.queues;
    if (violations.length > 0) throw new Finding(violations.slice(0, 5).join('\n'));
  }

  /** True when all services report that they are healthy; false also when they do not respond. */
  async isHealthy(): Promise<boolean> {
    const clients = [this.tableClient(), this.queueClient(), this.blobClient()];
    try {
      const ask = { target: '/healthz', auth: 'none' } as const;
      const answers = await Promise.all(clients.map((client) => client.send(ask)));
      return answers.every(({ status }) => status === 200);
    } catch {
      return false;
    } finally {
      for (const client of clients) client.close();
    }
  }

  async becomesHealthy(): Promise<void> {
    const ended = this.server.exit.then((exit) => {
      throw new Finding(`the server ended with ${shown(exit)}`);
    });
    ended.catch(() => undefined);
    await Promise.race([eventually('the server is healthy', () => this.isHealthy()), ended]);
  }

  /**
   * Resolves with the exit of the server; a finding when it does not come in time or leaves
   * processes.
   */
  async ended(ms?: number): Promise<ServerExit> {
    const exit = await within('the server ends', this.server.exit, ms);
    await this.assertNobodyLeft(ms);
    return exit;
  }

  /** SIGTERM, which must end it in an orderly way. */
  async stop(ms?: number): Promise<void> {
    this.server.signal('SIGTERM');
    assertStopped(await this.ended(ms));
  }

  async kill(): Promise<void> {
    this.server.signal('SIGKILL');
    await this.ended();
  }

  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  /** Checks that no process outlives the first one. */
  async assertNobodyLeft(ms?: number): Promise<void> {
    await eventually('all processes of the server end', () => this.processes().length === 0, ms);
  }

  processes(): readonly number[] {
    return processesOf(this.#id);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const pid of this.processes()) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // The process has ended already.
      }
    }
    await this.#server?.end('SIGKILL');
    await rm(this.#folder, { recursive: true, force: true });
  }
}

/** Any error of a client counts as a finding: the server has caused it. */
function asFinding(error: unknown): never {
  throw error instanceof Finding ? error : new Finding(String(error), { cause: error });
}
