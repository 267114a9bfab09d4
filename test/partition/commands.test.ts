import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { TableClient, TableServiceClient } from '@azure/data-tables';
import { createServer, type TabulariumServer } from '../../src/app/server.js';
import type { JobInfo, PartitionsInfo } from '../../src/http/control/partitions.js';
import { RemotePartitions } from '../../src/cli/partition/remote.js';
import { operationEnd } from '../../src/cli/partition/waiting.js';
import { CliProcess, runCli, type CliResult } from '../support/cli-process.js';
import { runCommand } from '../support/command-host.js';
import { hastyTime } from '../support/hasty-time.js';
import { costly } from '../support/run-length.js';

// The commands on ranges and stores as people and scripts see them: texts, JSON and exit codes.
// What they do is in server.test.ts.

const place = 'table/devstoreaccount1/movies';
const commands = (
  'list, split, merge, move, cancel, verify, balance, backup, restore, store add, store drain, ' +
  'store remove'
).split(', ');

/** What a command gave, without what it says of operations that have begun. */
function outcome({ code, stdout, stderr }: CliResult): readonly [number | null, string, string] {
  return [code, stdout, stderr.replace(/^Operation \d+ has begun\.\n/m, '')];
}

/** A server over two directories, and the commands that ask it. */
class World implements AsyncDisposable {
  readonly folder: string;
  #server: TabulariumServer;

  private constructor(folder: string, server: TabulariumServer) {
    this.folder = folder;
    this.#server = server;
  }

  get movies(): TableClient {
    return TableClient.fromConnectionString(this.#server.connectionString(), 'movies', {
      allowInsecureConnection: true,
    });
  }

  get control(): RemotePartitions {
    return new RemotePartitions(this.#server.controlPort ?? 0);
  }

  static async open(time?: ReturnType<typeof hastyTime>): Promise<World> {
    const folder = await mkdtemp(join(tmpdir(), 'tabularium-commands-'));
    const location = join(folder, 'home');
    const data = { location, stores: { b: { location: join(folder, 'b') } } };
    // Without a journal, commands may open the stores beside the server.
    const options = { ...data, journal: 'off' } as const;
    await writeFile(join(folder, 'tabularium.json'), JSON.stringify(options));
    const server = await createServer({ ...options, controlPort: 0, ...time });
    const world = new World(folder, server);
    await world.countNoRequests();
    await world.movies.createTable();
    for (const partitionKey of ['action', 'comedy', 'drama', 'western']) {
      await world.movies.createEntity({ partitionKey, rowKey: '1' });
    }
    return world;
  }

  /** The tables of metrics, which come when a minute ends, would have partitions of their own. */
  private async countNoRequests(): Promise<void> {
    const connection = this.#server.connectionString();
    const service = TableServiceClient.fromConnectionString(connection, {
      allowInsecureConnection: true,
    });
    const off = { version: '1.0', enabled: false, retentionPolicy: { enabled: false } };
    await service.setProperties({ hourMetrics: off, minuteMetrics: off });
  }

  stop(): Promise<void> {
    return this.#server.close();
  }

  /** Starts a server on the home store without others, after `stop`. */
  async startAlone(): Promise<void> {
    const location = join(this.folder, 'home');
    this.#server = await createServer({ location, stores: {}, journal: 'off', controlPort: 0 });
  }

  /** A command that asks the server. */
  asks(...words: readonly string[]): Promise<CliResult> {
    return runCommand(['partition', ...words, '--control-port', String(this.#server.controlPort)]);
  }

  /** A command that opens the stores itself. */
  opens(...words: readonly string[]): Promise<CliResult> {
    return runCommand(['partition', ...words, '--config', join(this.folder, 'tabularium.json')]);
  }

  /** Splits the last range; returns its second half. */
  async split(at: string): Promise<number> {
    const { ranges } = await this.control.list();
    const { operation } = await this.control.split(ranges.at(-1)?.range ?? 0, `${place}/${at}`);
    assert.equal((await operationEnd(this.control, operation)).state, 'done');
    return (await this.control.list()).ranges.at(-1)?.range ?? 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.close();
    await rm(this.folder, { recursive: true, force: true });
  }
}

void describe('the commands on partitions', () => {
  void it('say how they are used', costly(), async () => {
    for (const command of commands) {
      const { code, stdout } = await runCommand(['partition', ...command.split(' '), '--help']);
      assert.equal(code, 0, command);
      assert.match(stdout, new RegExp(`^Usage: tabularium partition ${command} `), command);
      assert.match(stdout, new RegExp(`Examples:\n  tabularium partition ${command} `), command);
      for (const option of ['--control-port', '--config', '--json']) {
        assert.ok(stdout.includes(option), `${command} ${option}`);
      }
    }
  });

  void it('refuse what is no range, no place and no server, and begin nothing', async () => {
    const access = ['--control-port', '10009'];
    const cases: readonly (readonly [readonly string[], RegExp])[] = [
      [['merge', '4'], /missing required argument 'second'/],
      [['merge', '4', 'x'], /'x' is invalid for argument 'second'/],
      [['cancel', '0'], /'0' is invalid for argument 'operation'/],
      [['backup', '5'], /required option '--to <directory>'/],
      [['backup', '5', '--to', ''], /--to is empty: give a directory/],
      [['restore', '5', '--from', ''], /--from is empty: give a directory/],
      [['store', 'add', 'd', ''], /The location is empty/],
      [['store', 'add', 'd', '/mnt/d', '--schema', 's'], /--schema is for a database/],
      [['store', 'drain'], /missing required argument 'name'/],
    ];
    for (const [words, message] of cases) {
      const { code, stdout, stderr } = await runCommand(['partition', ...words, ...access]);
      assert.deepEqual([code, stdout], [2, ''], words.join(' '));
      assert.match(stderr, message, words.join(' '));
    }
    const nowhere = await runCommand(['partition', 'balance']);
    assert.equal(nowhere.code, 2);
    assert.match(nowhere.stderr, /--control-port PORT, or --config FILE/);
  });

  void it('merge two ranges, and cancel a move that its process has left', costly(), async () => {
    await using world = await World.open();
    const left = await world.split('comedy');
    await world.split('western');
    const [, , first, second] = (await world.control.list()).ranges;
    const [one, two] = [String(first?.range), String(second?.range)];
    assert.notEqual(Number(one), left);

    const apart = outcome(await world.asks('merge', two, one));
    assert.deepEqual(apart.slice(0, 2), [2, '']);
    assert.match(apart[2], /^error: The second range has to begin where the first one ends/);
    const merged = await world.asks('merge', one, two);
    const made = (await world.control.list()).ranges.at(-1)?.range;
    assert.deepEqual(outcome(merged), [0, `Ranges ${one} and ${two} are one: ${made}.\n`, '']);
    assert.match(merged.stderr, /^Operation \d+ has begun\.\n$/);
    const gone = outcome(await world.asks('merge', one, two, '--json'));
    assert.deepEqual(gone.slice(0, 2), [2, '']);
    assert.match(gone[2], new RegExp(`^error: There is no range ${one}`));

    const last = String(await world.split('western'));
    const before = (await world.control.list()).ranges.at(-2)?.range;
    const scripted = await world.asks('merge', String(before), last, '--json');
    assert.deepEqual([scripted.code, scripted.stderr], [0, '']);
    assert.equal(record(scripted)['state'], 'done');

    const whole = String((await world.control.list()).ranges.at(-1)?.range);
    const words = ['split', whole, '--at', `${place}/western`];
    const unwaited = await world.asks(...words, '--no-wait', '--json');
    assert.deepEqual([unwaited.code, unwaited.stderr], [3, '']);
    assert.equal(record(unwaited)['state'], 'running');
    await operationEnd(world.control, Number(record(unwaited)['operation']));
    const halves = (await world.control.list()).ranges.slice(-2).map(({ range: half }) => half);
    assert.deepEqual(record(unwaited)['newRanges'], halves);

    // The process that opened the stores ends before its move does.
    const range = String((await world.control.list()).ranges.at(-1)?.range);
    const begun = await world.opens('move', range, '--to', 'b', '--no-wait');
    assert.deepEqual([begun.code, begun.stdout], [3, ''], begun.stderr);
    assert.match(begun.stderr, /A server of these stores goes on with it in about ten seconds/);
    const [, operation = ''] = /^Operation (\d+) has begun/.exec(begun.stderr) ?? [];
    const undone = outcome(await world.asks('cancel', operation));
    assert.deepEqual(undone, [0, `Operation ${operation} is undone.\n`, '']);
    assert.equal((await world.control.list()).ranges.at(-1)?.store, 'home');
    const late = await world.opens('cancel', operation, '--json');
    assert.deepEqual([late.code, late.stdout], [1, '{"cancelled":false}\n']);
    assert.match(late.stderr, /^error: There is no operation \d+ any more/);
    const unmarked = await world.opens('cancel', operation, '--no-wait', '--json');
    assert.deepEqual([unmarked.code, unmarked.stdout], [1, '{"cancelled":false}\n']);
  });

  void it('measure ranges, and cut one where it has halves', costly(), async () => {
    await using world = await World.open();
    const range = String(await world.split('action'));
    const measured = outcome(await world.asks('list', '--sizes', '--json'));
    assert.deepEqual([measured[0], measured[2]], [0, '']);
    const { ranges } = JSON.parse(measured[1]) as PartitionsInfo;
    assert.deepEqual(
      ranges.map(({ keys = 0, bytes = 0 }) => keys > 0 && bytes > keys),
      [false, true, true],
    );
    const cut = outcome(await world.asks('split', range));
    const halves = (await world.control.list()).ranges.slice(-2).map(({ range: half }) => half);
    assert.deepEqual(cut, [0, `Range ${range} is split into ${halves.join(' and ')}.\n`, '']);
    const again = outcome(await world.asks('split', range));
    assert.deepEqual(again.slice(0, 2), [2, '']);
    assert.match(again[2], new RegExp(`^error: There is no range ${range}`));
    const single = String(await world.split('western'));
    const words = ['split', single];
    for (const refused of [await world.asks(...words), await world.opens(...words)]) {
      assert.deepEqual([refused.code, refused.stdout], [2, '']);
      assert.match(refused.stderr, /^error: Range \d+ has fewer than two partitions/);
    }
    const whole = String((await world.control.list()).ranges.at(2)?.range);
    const unwaited = await world.opens('split', whole, '--no-wait', '--json');
    assert.equal(unwaited.code, 3, unwaited.stderr);
    assert.equal(record(unwaited)['state'], 'running');
  });

  void it('copy a range into a directory, and put it back', costly(), async () => {
    await using world = await World.open();
    const range = String(await world.split('western'));
    const directory = join(world.folder, 'backup');
    const copied = outcome(await world.asks('backup', range, '--to', directory));
    assert.deepEqual(copied, [0, `Range ${range} is in ${directory}.\n`, '']);
    const full = outcome(await world.asks('backup', range, '--to', directory, '--json'));
    assert.deepEqual(full.slice(0, 2), [2, '']);
    assert.match(full[2], /is not empty/);
    const used = outcome(await world.asks('restore', range, '--from', directory));
    assert.deepEqual(used.slice(0, 2), [2, '']);
    assert.match(used[2], new RegExp(`^error: Range ${range} has entries`));
    const none = outcome(await world.asks('restore', range, '--from', `${directory}-2`));
    assert.deepEqual(none.slice(0, 2), [2, '']);
    assert.match(none[2], /no whole backup/);
    assert.equal(existsSync(`${directory}-2`), false);
    await world.movies.deleteEntity('western', '1');
    const restored = await world.asks('restore', range, '--from', directory, '--json');
    assert.deepEqual([restored.code, restored.stderr], [0, '']);
    assert.deepEqual(record(restored), { range: Number(range), directory, leftOut: [] });
    assert.equal((await world.movies.getEntity('western', '1')).rowKey, '1');
  });

  void it('take a store in, empty it and take it out', costly(), async () => {
    await using world = await World.open();
    const directory = join(world.folder, 'd');
    await mkdir(directory);
    const added = outcome(await world.asks('store', 'add', 'd', directory));
    const reminder = 'Name it in the configuration of every server: stores: d.\n';
    assert.deepEqual(added, [0, 'The store d takes ranges.\n', reminder]);
    const elsewhere = join(world.folder, 'elsewhere');
    const moved = outcome(await world.asks('store', 'add', 'd', elsewhere));
    assert.deepEqual(moved.slice(0, 2), [2, '']);
    assert.match(moved[2], /^error: The store 'd' is at .*d, and not at .*elsewhere: nothing was/);
    await assert.rejects(stat(elsewhere), { code: 'ENOENT' });
    const link = join(world.folder, 'link');
    await symlink(directory, link);
    const same = await world.asks('store', 'add', 'd', link, '--json');
    assert.deepEqual(outcome(same), [0, '{"added":"d"}\n', '']);
    const unknown = outcome(await world.asks('store', 'drain', 'e'));
    assert.deepEqual(unknown.slice(0, 2), [2, '']);
    assert.match(unknown[2], /^error: There is no store 'e'; there is: home, b, d/);
    const range = String(await world.split('western'));
    assert.equal((await world.asks('move', range, '--to', 'd')).code, 0);
    const used = outcome(await world.asks('store', 'remove', 'd'));
    assert.deepEqual(used.slice(0, 2), [2, '']);
    assert.match(used[2], /^error: .*has ranges.*store drain d/);

    const draining = await world.asks('store', 'drain', 'd', '--no-wait', '--json');
    assert.deepEqual(outcome(draining), [3, '{"draining":"d"}\n', '']);
    const emptied = outcome(await world.asks('store', 'drain', 'd'));
    assert.deepEqual(emptied, [0, 'The store d is empty.\n', '']);
    const back = await world.asks('store', 'add', 'd', '--json');
    assert.deepEqual(outcome(back), [0, '{"added":"d"}\n', '']);
    const removed = await world.asks('store', 'remove', 'd');
    assert.deepEqual(outcome(removed), [0, 'The store d is taken out.\n', '']);
    const { stores } = await world.control.list();
    assert.deepEqual(
      stores.map(({ store }) => store),
      ['b', 'home'],
    );
  });

  void it('take a store out of one process that another has taken out', costly(), async () => {
    await using world = await World.open();
    const range = String(await world.split('western'));
    const directory = join(world.folder, 'b');
    const elsewhere = await world.opens('store', 'remove', 'b');
    assert.deepEqual(outcome(elsewhere), [0, 'The store b is taken out.\n', '']);
    // The server has it open still.
    const refused = outcome(await world.asks('move', range, '--to', 'b'));
    assert.deepEqual(refused.slice(0, 2), [2, '']);
    assert.match(refused[2], /^error: There is no store 'b'; there is: home\./);
    const placeless = outcome(await world.asks('store', 'add', 'b'));
    assert.deepEqual(placeless.slice(0, 2), [2, '']);
    assert.match(placeless[2], /needs one of location/);
    const added = await world.asks('store', 'add', 'b', directory, '--json');
    assert.deepEqual(outcome(added), [0, '{"added":"b"}\n', '']);
    assert.equal((await world.asks('move', range, '--to', 'b')).code, 0);
    assert.equal((await world.asks('move', range, '--to', 'home')).code, 0);

    assert.equal((await world.opens('store', 'remove', 'b')).code, 0);
    const here = outcome(await world.asks('store', 'remove', 'b'));
    assert.deepEqual(here, [0, 'The store b is taken out.\n', '']);
    const gone = outcome(await world.asks('store', 'remove', 'b'));
    assert.deepEqual(gone.slice(0, 2), [2, '']);
    assert.match(gone[2], /^error: There is no store 'b'; there is: home\./);
  });

  void it(
    'take a store out whose disk was replaced, where no server starts',
    costly(),
    async () => {
      await using world = await World.open();
      await world.stop();
      await rm(join(world.folder, 'b'), { recursive: true });
      const refused = await world.opens('list');
      assert.equal(refused.code, 1);
      assert.match(refused.stderr, /is not the store 'b'.*store remove b, with --config/);
      const removed = outcome(await world.opens('store', 'remove', 'b'));
      assert.deepEqual(removed, [0, 'The store b is taken out.\n', '']);
      assert.equal((await world.opens('list')).code, 0, 'the new disk is taken in by the name');
    },
  );

  void it(
    'take a store out that is lost, also when no server starts without it',
    costly(),
    async () => {
      await using world = await World.open();
      const range = String(await world.split('western'));
      const answers = outcome(await world.asks('store', 'remove', 'b', '--lost'));
      assert.deepEqual(answers.slice(0, 2), [2, '']);
      assert.match(answers[2], /^error: The store 'b' answers, so it is not lost/);
      const unknown = outcome(await world.asks('store', 'remove', 'e', '--lost'));
      assert.deepEqual(unknown.slice(0, 2), [2, '']);
      assert.match(unknown[2], /^error: There is no store 'e'/);
      // Its disk is lost while a move there is under way, and the server is stopped.
      assert.equal((await world.opens('move', range, '--to', 'b', '--no-wait')).code, 3);
      await world.stop();
      await rm(join(world.folder, 'b'), { recursive: true });
      const before = await world.opens('list');
      assert.deepEqual([before.code, before.stdout], [1, '']);
      assert.match(before.stderr, /has nothing of the store 'b'.*store remove b --lost/);
      const removed = outcome(await world.opens('store', 'remove', 'b', '--lost'));
      const reminder = 'Take it out of the configuration of every server: stores: b.\n';
      assert.deepEqual(removed, [0, 'The store b is taken out.\n', reminder]);
      await mkdir(join(world.folder, 'b'));
      const named = await world.opens('list');
      assert.equal(named.code, 1);
      assert.match(named.stderr, /'b', which was at .*b, was taken out as lost.*another name/);
      assert.deepEqual(await readdir(join(world.folder, 'b')), [], 'nothing was made there');
      await world.startAlone();
      const { stores, operations, ranges } = await world.control.list();
      assert.deepEqual([stores.map(({ store }) => store), operations], [['home'], []]);
      assert.equal(ranges.at(-1)?.state, 'serving');
      assert.equal((await world.movies.getEntity('western', '1')).rowKey, '1');
    },
  );

  void it('plan, and say what there is to do', costly(), async () => {
    await using world = await World.open(hastyTime());
    const early = outcome(await world.asks('balance', '--dry-run', '--no-wait', '--json'));
    assert.deepEqual([early[0], early[2]], [0, '']);
    const plan = JSON.parse(early[1]) as Record<string, unknown>;
    assert.deepEqual([plan['operations'], plan['begun'], plan['neededMs']], [[], [], 15_000]);
    const idle = outcome(await world.asks('balance'));
    assert.equal(idle[0], 0);
    const notes =
      /^There is nothing to do\.\nStores have \d\.\d calls a second on the mean: below 10, .*\n$/;
    assert.match(idle[1], notes);
  });

  void it('end with the code of what they have begun', async () => {
    const plan = { operations: ['split range 2 at …'], findings: [], away: [], unsized: 0 };
    const begun = { ...plan, notes: [], begun: [7], measuredMs: 15_000, neededMs: 15_000 };
    for (const [state, words, code, text] of [
      ['done', [], 0, /Operations 7 have begun\.\nAll of it is over\.\n$/],
      ['cancelled', [], 1, /Operations 7 have begun\.\n$/],
      ['running', ['--no-wait'], 3, /Operations 7 have begun\.\n$/],
    ] as const) {
      const server = createHttpServer((request, response) => {
        const answer = request.method === 'POST' ? begun : { operation: 7, state };
        response.setHeader('Content-Type', 'application/json');
        response.end(JSON.stringify(answer));
      });
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      const { port } = server.address() as AddressInfo;
      const result = await runCommand([
        'partition',
        'balance',
        ...words,
        '--control-port',
        `${port}`,
      ]);
      server.closeAllConnections();
      server.close();
      assert.equal(result.code, code, result.stderr);
      assert.match(result.stdout, text);
    }
  });

  /** A server whose only job goes on until `isOver`. */
  async function jobServer(end: Partial<JobInfo>, isOver: () => boolean) {
    const job = { job: 1, state: 'running', done: 4_321, unit: 'keys' } as const;
    const server = createHttpServer((request, response) => {
      const answer =
        request.method === 'POST'
          ? { job: 1 }
          : request.url === '/partition-jobs/1'
            ? { ...job, ...(isOver() && end) }
            : { operation: 7, state: 'done' };
      response.setHeader('Content-Type', 'application/json');
      response.end(JSON.stringify(answer));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const close = () => {
      server.closeAllConnections();
      server.close();
    };
    return { access: ['--control-port', String(port)], close };
  }

  void it('end with the code of the job that measures a range', async () => {
    const problem = 'It says why.';
    for (const [end, code, stdout, stderr] of [
      [
        { state: 'done', result: { operation: 7 } },
        0,
        'Range 5 is split.\n',
        'Operation 7 has begun.\n',
      ],
      [{ state: 'refused', problem }, 2, '', 'error: It says why.\n'],
      [{ state: 'failed', problem }, 1, '', 'error: It says why.\n'],
    ] as const) {
      let looks = 0;
      const { access, close } = await jobServer(end, () => (looks += 1) > 2);
      const split = await runCommand(['partition', 'split', '5', ...access]);
      close();
      assert.deepEqual([split.code, split.stdout], [code, stdout], split.stderr);
      assert.ok(split.stderr.startsWith(stderr), split.stderr);
    }
  });

  void it('end with the code of what a verification has compared', async () => {
    const notCompared = ['Range 5 was not compared: operation 7 works on it.'];
    const left = `${notCompared.join('')}\n`;
    for (const [result, words, code, stdout] of [
      [{ findings: [], repaired: [] }, [], 0, 'Map and stores agree.\n'],
      [{ findings: [], repaired: [], notCompared }, [], 3, `${left}All else agrees.\n`],
      [{ findings: ['It differs.'], repaired: [], notCompared }, [], 1, `It differs.\n${left}`],
      [
        { findings: [], repaired: [], notCompared },
        ['--json'],
        3,
        `${JSON.stringify({ findings: [], repaired: [], notCompared })}\n`,
      ],
    ] as const) {
      const { access, close } = await jobServer({ state: 'done', result }, () => true);
      const verify = await runCommand(['partition', 'verify', ...words, ...access]);
      close();
      assert.deepEqual([verify.code, verify.stdout], [code, stdout], verify.stderr);
    }
  });

  void it('refuse locations that are none, or another store, and hide passwords', async () => {
    await using world = await World.open();
    for (const [location, why] of [
      ['mysql://user:secret@host/name', /is the URL of something else/],
      [join(world.folder, 'b'), /is the store 'b' of these data already/],
      [join(world.folder, 'home'), /is that of the home store/],
    ] as const) {
      const [code, stdout, stderr] = outcome(await world.asks('store', 'add', 'c', location));
      assert.deepEqual([code, stdout], [2, '']);
      assert.match(stderr, why);
      assert.doesNotMatch(stderr, /secret/);
    }
    const missing = outcome(await world.asks('merge', '1', '99'));
    assert.deepEqual(missing.slice(0, 2), [2, '']);
    assert.match(missing[2], /^error: There is no range 99/);
    await assert.rejects(
      world.control.addStore('c', { location: 'mysql://user:secret@host/name' }),
      /store\.location is a URL: give a data directory, or a PostgreSQL database as postgresUrl/,
    );
    assert.equal((await world.control.list()).stores.length, 2);
  });

  void it('show how many keys they have read of what they measure', costly(), async () => {
    const result = { ranges: [], stores: [], operations: [] };
    const shows = async (words: readonly string[], end: Partial<JobInfo>) => {
      let isTold = false;
      const { access, close } = await jobServer(end, () => isTold);
      const command = new CliProcess(['partition', ...words, ...access], { input: '' });
      await command.printed('4,321 keys\n');
      isTold = true;
      const { code, stderr } = await command.result;
      close();
      assert.equal(code, 0, stderr);
    };
    await Promise.all([
      shows(['list', '--sizes'], { state: 'done', result }),
      shows(['split', '5'], { state: 'done', result: { operation: 7 } }),
    ]);
  });

  void it(
    'take lists from the variables of the options, as the server does',
    costly(),
    async () => {
      const folder = await mkdtemp(join(tmpdir(), 'tabularium-commands-'));
      const config = join(folder, 'tabularium.json');
      await writeFile(config, JSON.stringify({ location: join(folder, 'home'), stores: {} }));
      const env = { TABULARIUM_ALLOW_HOST: 'one.example, two.example' };
      const { code, stderr } = await runCli(['partition', 'list', '--config', config], { env });
      await rm(folder, { recursive: true });
      assert.deepEqual([code, stderr], [0, '']);
    },
  );

  void it('show how far they are, where no terminal is, every few seconds', costly(), async () => {
    await using server = await createServer({
      inMemory: true,
      stores: {},
      controlPort: 0,
      ...hastyTime(2.5),
    });
    const port = String(server.controlPort);
    const words = ['partition', 'balance', '--dry-run', '--control-port', port];
    const { code, stderr } = await runCli(words);
    assert.equal(code, 0);
    assert.match(stderr, /^\d+%, loads measured for \d+ s of 15 s\n$/);
  });
});

function record({ stdout }: CliResult): Readonly<Record<string, unknown>> {
  return JSON.parse(stdout) as Readonly<Record<string, unknown>>;
}
