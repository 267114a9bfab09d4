import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { invariant } from '../../src/base/invariant.js';
import { within } from '../chaos/finding.js';
import { blobsOf, crashContainer, runBlobLoad, type BlobLoad } from '../crash/blob-load.js';
import { settleBlobs } from '../crash/blob-settle.js';
import { Ledger } from '../crash/ledger.js';
import { createMainTable, runLoad, type Load } from '../crash/load.js';
import { isHeld, QueueLedger, type Known } from '../crash/queue-ledger.js';
import { crashQueue, runQueueLoad, type QueueLoad } from '../crash/queue-load.js';
import { settleQueue } from '../crash/queue-settle.js';
import { settle } from '../crash/settle.js';
import { runSql } from '../support/engine-postgres.js';
import { startPostgres, withoutPostgres, type PostgresServer } from '../support/postgres-server.js';
import { byLength } from '../support/run-length.js';
import { SimRandom } from '../support/sim-random.js';
import { numberSetting, seedSetting } from '../support/sim-settings.js';
import { WireQueues } from '../support/wire-queues.js';
import { developmentAccount as account } from '../wire/kit/signature.js';
import { Fleet } from './fleet.js';

const seed = seedSetting('TABULARIUM_CRASH_SEED');
const rounds = numberSetting('TABULARIUM_CRASH_ROUNDS', byLength({ short: 3, long: 200 }));
const servers = 2;
const settleWithinMs = 120_000;

/** What is killed: a server, one process of the database, its first process, or all of it. */
const victims = ['server', 'backend', 'postmaster', 'database'] as const;

void describe(`servers on one database (seed ${seed})`, { skip: withoutPostgres }, () => {
  let database: PostgresServer | undefined;
  let started: Fleet | undefined;
  before(async () => {
    database = await startPostgres();
    started = await Fleet.start(database.url, servers);
  });
  after(async () => {
    await started?.[Symbol.asyncDispose]();
    await database?.dispose();
  });

  void it(`lose nothing and apply nothing by half over ${rounds} kills`, async (t) => {
    invariant(database !== undefined && started !== undefined, 'all of it has been started');
    const world = new World(database, started, new SimRandom(seed));
    await world.make();
    const first = world.random.int(victims.length);
    for (let round = 0; round < rounds; round += 1) {
      const victim = victims[(first + round) % victims.length] ?? 'server';
      await world.round(victim, `round ${round + 1}, ${victim} killed`);
    }
    t.diagnostic(`${world.acknowledged} acknowledged writes of blobs, ${world.busy} busy answers`);
    assert.ok(world.acknowledged > rounds);
  });
});

/** Nothing was done of a request that is answered with 503. */
function isNoRetry(surprise: string): boolean {
  return !/^(?:a group was )?(?:answered )?503\b/.test(surprise);
}

/** What clients of all servers have written, and may expect. */
class World {
  readonly random: SimRandom;
  readonly #database: PostgresServer;
  readonly #fleet: Fleet;
  readonly #tables = new Ledger();
  readonly #queues = new QueueLedger();
  readonly #blobs = blobsOf(servers);
  #held: Known[] = [];
  acknowledged = 0;
  /** Answers that tell a client to ask again. */
  busy = 0;

  constructor(database: PostgresServer, fleet: Fleet, random: SimRandom) {
    this.#database = database;
    this.#fleet = fleet;
    this.random = random;
  }

  async make(): Promise<void> {
    const server = this.#fleet.at(0);
    const [tables, queues, blobs] = [server.client(), server.queueClient(), server.blobClient()];
    await createMainTable(tables, this.#tables);
    await new WireQueues({ [account]: queues }).createQueue(account, crashQueue, []);
    await blobs.expect(201, { method: 'PUT', path: `/${crashContainer}?restype=container` });
    for (const client of [tables, queues, blobs]) client.close();
  }

  async round(victim: (typeof victims)[number], name: string): Promise<void> {
    const { random } = this;
    // A server waits for its database. Only what cannot be repeated is left to the client.
    const base = { random, isOver: false, surprises: [] };
    const tables: Load = { ...base, ledger: this.#tables };
    const queues: QueueLoad = { ...base, ledger: this.#queues };
    const blobs: BlobLoad = { ...base, acknowledged: 0 };
    const all = this.#fleet.servers;
    const done = Promise.all([
      runLoad(
        tables,
        all.flatMap((server) => [server.client(), server.client()]),
      ),
      runQueueLoad(
        queues,
        all.map((server) => server.queueClient()),
        this.#held.filter(isHeld),
      ),
      ...all.map((server, index) =>
        runBlobLoad(blobs, server.blobClient(), this.#blobs[index] ?? []),
      ),
    ]);
    done.catch(() => undefined);
    await pause(random.between(100, 400));
    const end = await this.#kill(victim);
    await pause(random.between(50, 200));
    for (const load of [tables, queues, blobs]) load.isOver = true;
    await within(`${name}: clients get their answers`, done);
    await end();
    assert.deepEqual(base.surprises.filter(isNoRetry), [], name);
    this.busy += base.surprises.length;
    this.acknowledged += blobs.acknowledged;
    await within(`${name}: all is read`, this.#settle(), settleWithinMs);
  }

  /** The function returned restores what was killed, as far as it does not do so itself. */
  async #kill(victim: (typeof victims)[number]): Promise<() => Promise<void>> {
    const { random } = this;
    switch (victim) {
      case 'server': {
        const index = random.int(servers);
        await this.#fleet.kill(index);
        return () => this.#fleet.replace(index);
      }
      case 'backend': {
        const sql = `select pid from pg_stat_activity where application_name = 'tabularium'`;
        const rows = await runSql(this.#database.url, sql);
        const pids = rows.map((row) => Number(Reflect.get(Object(row), 'pid')));
        process.kill(random.pick(pids), 'SIGKILL');
        // The first process ends all others and starts the database again.
        return () => this.#fleet.becomesHealthy();
      }
      case 'postmaster':
      case 'database':
        await this.#database.stop(victim === 'postmaster' ? 'SIGKILL' : 'SIGQUIT');
        await this.#database.start();
        return () => this.#fleet.becomesHealthy();
      default:
        throw new Error(`nobody knows how to kill ${String(victim)}`);
    }
  }

  /** Reads everything from one of the servers. */
  async #settle(): Promise<void> {
    const server = this.#fleet.at(this.random.int(servers));
    const [tables, queues, blobs] = [server.client(), server.queueClient(), server.blobClient()];
    await settle(this.#tables, tables);
    this.#held = await settleQueue(this.#queues, new WireQueues({ [account]: queues }));
    await settleBlobs(blobs, this.#blobs.flat());
    assert.deepEqual(this.#queues.violations, []);
    for (const client of [tables, queues, blobs]) client.close();
  }
}
