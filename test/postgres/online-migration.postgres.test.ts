import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { copyStateKey } from '../../src/app/moves/copy-state.js';
import { systemClock } from '../../src/base/clock.js';
import { openPostgresStore } from '../../src/engines/postgres/store.js';
import { eventually, within } from '../chaos/finding.js';
import { blobsOf, crashContainer, runBlobLoad, type BlobLoad } from '../crash/blob-load.js';
import { settleBlobs } from '../crash/blob-settle.js';
import { Ledger } from '../crash/ledger.js';
import { createMainTable, runLoad, type Load } from '../crash/load.js';
import { isHeld, QueueLedger, type Known } from '../crash/queue-ledger.js';
import { crashQueue, runQueueLoad, type QueueLoad } from '../crash/queue-load.js';
import { settleQueue } from '../crash/queue-settle.js';
import { settle } from '../crash/settle.js';
import { ServerProcess, StartFailure } from '../support/crash-server.js';
import { dropSchema } from '../support/engine-postgres.js';
import { postgresOfSuite } from '../support/postgres-of-suite.js';
import { withoutPostgres } from '../support/postgres-server.js';
import { byLength } from '../support/run-length.js';
import { SimRandom } from '../support/sim-random.js';
import { seedSetting } from '../support/sim-settings.js';
import { WireQueues } from '../support/wire-queues.js';
import { developmentAccount as account } from '../wire/kit/signature.js';

const seed = seedSetting('TABULARIUM_CRASH_SEED');
const moves = byLength({ short: 1, long: 4 });
const killsOfMove = byLength({ short: 2, long: 3 });
const settleWithinMs = 120_000;
/** Of an advisory lock that nobody else uses. */
const lockNumber = 4_711;
const program = fileURLToPath(new URL('../../../bin/tabularium.js', import.meta.url));
const runFile = promisify(execFile);

/** The phases in which a server is killed; a moment passes before. */
const phases = ['reading the source', 'copying', 'comparing', 'switching', 'any'] as const;

interface Info {
  readonly state: string;
  readonly phase: string;
  readonly problem?: string;
}

void describe(`data that move to a database (seed ${seed})`, { skip: withoutPostgres }, () => {
  const database = postgresOfSuite();

  void it(`are whole however often their server is killed, ${moves} times`, async (t) => {
    for (let move = 1; move <= moves; move += 1) {
      const schema = `move_${move}`;
      const folder = await mkdtemp(join(tmpdir(), 'tabularium-move-'));
      t.after(() => rm(folder, { recursive: true, force: true }));
      const world = new World(folder, { url: database().url, schema }, new SimRandom(seed + move));
      t.diagnostic(await world.move());
      await dropSchema(database().url, schema);
    }
  });

  for (const end of ['applied', 'lost'] as const) {
    void it(`are in one place when their server is killed while it switches, ${end}`, async (t) => {
      const folder = await mkdtemp(join(tmpdir(), 'tabularium-move-'));
      t.after(() => rm(folder, { recursive: true, force: true }));
      const goal = { url: database().url, schema: `move_${end}` };
      await new World(folder, goal, new SimRandom(seed)).killAtSwitch(end);
      await dropSchema(goal.url, goal.schema);
    });
  }
});

/** One directory that moves, and what clients have written and may expect. */
class World {
  readonly #from: string;
  readonly #to: string;
  readonly #goal: { readonly url: string; readonly schema: string };
  readonly #random: SimRandom;
  readonly #tables = new Ledger();
  readonly #queues = new QueueLedger();
  readonly #blobs = blobsOf(2);
  #held: Known[] = [];
  #acknowledged = 0;

  constructor(folder: string, goal: { url: string; schema: string }, random: SimRandom) {
    this.#from = join(folder, 'from');
    this.#to = join(folder, 'to');
    this.#goal = goal;
    this.#random = random;
  }

  /** Kills the server while its data move, several times, and lets them move at last. */
  async move(): Promise<string> {
    const ends: string[] = [];
    let server = await this.#start();
    try {
      await this.#make(server);
      for (let kill = 0; kill <= killsOfMove; kill += 1) {
        const isLast = kill === killsOfMove;
        const phase = isLast ? 'end' : this.#random.pick(phases);
        ends.push(await this.#round(server, phase));
        if (isLast) await this.#assertServesNothing(server);
        await server.end('SIGKILL');
        const next = await this.#startAgain(ends);
        if (next === undefined) break;
        server = next;
        await this.#settle(server);
      }
    } finally {
      await server.end('SIGKILL');
    }
    assert.match(ends.at(-1) ?? '', /^moved/, ends.join(', '));
    await this.#settleMoved();
    assert.ok(this.#acknowledged > 0);
    return `${ends.join(', ')}; ${this.#acknowledged} acknowledged writes of blobs`;
  }

  /** The commit that decides waits in the database when its server is killed. */
  async killAtSwitch(end: 'applied' | 'lost'): Promise<void> {
    const { url, schema } = this.#goal;
    const clock = systemClock;
    await (await openPostgresStore({ url, schema, clock })).close();
    await using holder = await SwitchHolder.hold(url, schema);
    let server = await this.#start();
    try {
      await this.#make(server);
      await this.#settle(server);
      const goal = { location: this.#to, postgresUrl: url, postgresSchema: schema };
      await ask(server, 'POST', goal);
      await holder.waits();
      await server.end('SIGKILL');
      const ends: string[] = [];
      await assert.rejects(this.#start(), /All data were moving to .* when the server ended/);
      const recovered = this.#recover(true);
      recovered.catch(() => undefined);
      await (end === 'applied' ? holder.release() : holder.terminate());
      assert.equal(await recovered, end === 'applied' ? 'found moved' : 'taken back');
      const again = await this.#startAgain(ends);
      assert.deepEqual(
        [again === undefined, ends],
        end === 'applied' ? [true, ['moved']] : [false, []],
      );
      if (again !== undefined) {
        server = again;
        await this.#settle(server);
        await this.#untilMoved(server);
      }
    } finally {
      await server.end('SIGKILL');
    }
    await this.#settleMoved();
  }

  /** Loads the server while its data move. Ends before it is killed, or when they have moved. */
  async #round(server: ServerProcess, phase: (typeof phases)[number] | 'end'): Promise<string> {
    const base = { random: this.#random, isOver: false, surprises: [] as string[] };
    const tables: Load = { ...base, ledger: this.#tables };
    const queues: QueueLoad = { ...base, ledger: this.#queues };
    const blobs: BlobLoad = { ...base, acknowledged: 0 };
    const done = Promise.all([
      runLoad(tables, [server.client(), server.client(), server.client()]),
      runQueueLoad(queues, [server.queueClient()], this.#held.filter(isHeld)),
      ...this.#blobs.map((known) => runBlobLoad(blobs, server.blobClient(), known)),
    ]);
    done.catch(() => undefined);
    await pause(this.#random.between(50, 200));
    const ended = await this.#untilPhase(server, phase);
    if (phase !== 'end') await server.end('SIGKILL');
    for (const load of [tables, queues, blobs]) load.isOver = true;
    await within(`${phase}: clients get their answers`, done);
    assert.deepEqual(base.surprises.filter(isNoRetry), [], phase);
    this.#acknowledged += blobs.acknowledged;
    return ended;
  }

  async #untilPhase(server: ServerProcess, phase: string): Promise<string> {
    if (phase === 'end') return this.#untilMoved(server);
    const { url: postgresUrl, schema: postgresSchema } = this.#goal;
    const goal = { location: this.#to, postgresUrl, postgresSchema };
    let info = await ask(server, 'POST', goal);
    const waitMs = this.#random.between(0, phase === 'any' ? 400 : 30);
    const isWaiting = (): boolean =>
      phase !== 'any' && info.state === 'running' && info.phase !== phase;
    while (isWaiting()) {
      await pause(2);
      info = await ask(server, 'GET');
    }
    if (info.state === 'failed') assert.fail(info.problem);
    await pause(waitMs);
    return info.state === 'done' ? 'moved' : `killed in ${phase}`;
  }

  async #untilMoved(server: ServerProcess): Promise<string> {
    const port = String(server.controlPort);
    const args = [program, 'migrate', '--online', '--control-port', port, ...this.#target];
    const { stdout } = await runFile(process.execPath, args, { env: this.#env });
    const form = /^All data are in .*, schema move_\w+\. Writes waited (\d+) ms\./;
    assert.match(stdout, form);
    return `moved, writes waited ${form.exec(stdout)?.[1] ?? ''} ms`;
  }

  /** For the command line. */
  get #target(): readonly string[] {
    return ['--to', 'postgres', '--to-location', this.#to, '--to-schema', this.#goal.schema];
  }

  get #env(): NodeJS.ProcessEnv {
    return { ...process.env, TABULARIUM_POSTGRES_URL: this.#goal.url };
  }

  /** Undefined: the data have moved. */
  async #startAgain(ends: string[]): Promise<ServerProcess | undefined> {
    for (;;) {
      try {
        return await this.#start();
      } catch (error) {
        if (!(error instanceof StartFailure)) throw error;
        const { output } = error.exit;
        if (/All data have moved to /.test(output)) {
          if (ends.at(-1)?.startsWith('moved') !== true) ends.push('moved');
          return undefined;
        }
        assert.match(output, /All data were moving to .* when the server ended/);
        ends.push(await this.#recover(this.#random.chance(0.5)));
      }
    }
  }

  /** What people do about a server that ended in the moment of the switch. */
  async #recover(takesBack: boolean): Promise<string> {
    const args = [program, 'migrate', '--from', this.#from, ...this.#target];
    const how = takesBack ? ['--cancel'] : [];
    try {
      await runFile(process.execPath, [...args, ...how], { env: this.#env });
      return takesBack ? 'taken back' : 'finished';
    } catch (error) {
      const { stderr } = error as { stderr: string };
      assert.match(stderr, /has taken over/);
      // Whoever wants them back learns that they have moved; who finishes notes it.
      return takesBack ? this.#recover(false) : 'found moved';
    }
  }

  async #start(): Promise<ServerProcess> {
    return ServerProcess.start(this.#from, { flags: ['--control-port', '0'] });
  }

  async #make(server: ServerProcess): Promise<void> {
    const [tables, queues, blobs] = [server.client(), server.queueClient(), server.blobClient()];
    await createMainTable(tables, this.#tables);
    await new WireQueues({ [account]: queues }).createQueue(account, crashQueue, []);
    await blobs.expect(201, { method: 'PUT', path: `/${crashContainer}?restype=container` });
    for (const client of [tables, queues, blobs]) client.close();
  }

  async #settleMoved(): Promise<void> {
    const { url, schema } = this.#goal;
    const moved = await ServerProcess.start(this.#to, {
      flags: ['--engine', 'postgres', '--postgres-schema', schema],
      env: { TABULARIUM_POSTGRES_URL: url },
    });
    try {
      await this.#settle(moved);
    } finally {
      await moved.end('SIGKILL');
    }
  }

  async #assertServesNothing(server: ServerProcess): Promise<void> {
    const client = server.client();
    const { status } = await client.send({ path: '/Tables' });
    assert.equal(status, 503);
    client.close();
  }

  async #settle(server: ServerProcess): Promise<void> {
    const read = async (): Promise<void> => {
      const [tables, queues, blobs] = [server.client(), server.queueClient(), server.blobClient()];
      await settle(this.#tables, tables);
      this.#held = await settleQueue(this.#queues, new WireQueues({ [account]: queues }));
      await settleBlobs(blobs, this.#blobs.flat());
      assert.deepEqual(this.#queues.violations, []);
      for (const client of [tables, queues, blobs]) client.close();
    };
    await within('all is read', read(), settleWithinMs);
  }
}

/** Lets the commit that makes a copy data to serve wait in the database. */
class SwitchHolder implements AsyncDisposable {
  readonly #client: Client;

  private constructor(client: Client) {
    this.#client = client;
  }

  static async hold(url: string, schema: string): Promise<SwitchHolder> {
    const client = new Client(url);
    await client.connect();
    const key = Buffer.from(copyStateKey).toString('hex');
    await client.query(`
      select pg_advisory_lock(${lockNumber});
      create function ${schema}.wait() returns trigger language plpgsql as $$
        begin perform pg_advisory_xact_lock(${lockNumber}); return old; end $$;
      create trigger wait before delete on ${schema}.kv for each row
        when (old.key = '\\x${key}') execute function ${schema}.wait();`);
    return new SwitchHolder(client);
  }

  /** Resolves when the commit waits. */
  async waits(): Promise<void> {
    await eventually('the switch waits', async () => (await this.#waiting()).length > 0);
  }

  async release(): Promise<void> {
    await this.#client.query(`select pg_advisory_unlock(${lockNumber})`);
  }

  /** The commit is never applied. */
  async terminate(): Promise<void> {
    for (const pid of await this.#waiting()) {
      await this.#client.query('select pg_terminate_backend($1)', [pid]);
    }
    await this.release();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client.end();
  }

  async #waiting(): Promise<readonly number[]> {
    const { rows } = await this.#client.query<{ pid: number }>(
      `select pid from pg_locks where locktype = 'advisory' and objid = ${lockNumber} and not granted`,
    );
    return rows.map(({ pid }) => pid);
  }
}

/** Nothing was done of a request that is answered with 503. */
function isNoRetry(surprise: string): boolean {
  return !/^(?:a group was )?(?:answered )?503\b/.test(surprise);
}

async function ask(server: ServerProcess, method: string, body?: object): Promise<Info> {
  const response = await fetch(`http://127.0.0.1:${server.controlPort}/migration`, {
    method,
    ...(body && { body: JSON.stringify(body) }),
  });
  const info = (await response.json()) as Info & { readonly error?: string };
  assert.ok(response.ok, info.error);
  return info;
}
