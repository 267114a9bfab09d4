import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative, sep } from 'node:path';
import { after, describe, it } from 'node:test';
import { BlobServiceClient, type ContainerClient } from '@azure/storage-blob';
import { manualClock } from '../../src/base/clock.js';
import { DecodeError, ValueError } from '../../src/modeling/index.js';
import { moveShard, ShardTakenError } from '../../src/modeling/patterns/shard-map/index.js';
import {
  backupBlobs,
  backupFiles,
  ManagerError,
  type BackupProgress,
  type BackupStore,
} from '../../src/modeling/patterns/shard-map-manager/index.js';
import type { ContainerPort } from '../../src/modeling/worker/container-port.js';
import { startFixture } from '../wire/kit/server.js';
import {
  backedUpShards,
  hourMs,
  intervals,
  linesIn,
  type BackedUpShards,
} from './support/backed-up-shards.js';
import { crashEverywhere } from './support/crash-points.js';
import { Order, orderSchema } from './support/memory-shards.js';
import { MemoryRows } from './support/memory-table.js';
import { wrappedMethods } from './support/wrapped-methods.js';
import { costly } from '../support/run-length.js';

const { server } = await startFixture();
const directory = await mkdtemp(join(tmpdir(), 'tabularium-backups-'));
after(() => rm(directory, { recursive: true }));
const service = BlobServiceClient.fromConnectionString(server.connectionString());

const shardsIn = (names: readonly string[]): readonly string[] =>
  names.map((name) => name.split('/')[0] ?? '');

describe('backups of shards', () => {
  it('are made when they are due, by the most critical data of each', async () => {
    const { store, clock, manager } = await backedUpShards();
    const schedule = { to: store, intervals, keep: 2 };
    const run = () => manager().backups.makeDue(schedule);
    const first = await run();
    assert.deepEqual(
      first.made.map(({ shard, tables }) => [shard, Object.keys(tables)]),
      [
        ['north', ['orders']],
        ['south', ['orders']],
      ],
    );
    assert.deepEqual(first.unplanned, ['west']);
    assert.equal(first.next?.toISOString(), '2024-05-31T01:00:00.000Z');
    assert.deepEqual((await run()).made, []);
    const made: string[] = [];
    for (let hours = 1; hours <= 24; hours += 1) {
      clock.advanceMicros(hourMs * 1000);
      made.push(...(await run()).made.map(({ shard }) => shard));
    }
    assert.equal(made.filter((shard) => shard === 'north').length, 24);
    assert.equal(made.filter((shard) => shard === 'south').length, 1);
    const kept = await manager().backups.namesOf(store, 'north');
    assert.equal(kept.length, 2);
    assert.match(kept[0] ?? '', /^north\/2024-06-01T00-00-00\.000Z_/);
    assert.equal(
      (await manager().describe('north'))?.backedUpAt?.toISOString().slice(11, 13),
      '00',
    );
    await manager().detach('north');
    clock.advanceMicros(hourMs * 1000);
    assert.deepEqual((await run()).made, []);
    await assert.rejects(manager().backups.makeDue({ ...schedule, keep: 0 }), ValueError);
  });

  it('of other shards are made when those of one fail, until they are aborted', async () => {
    const { store, clock, manager } = await backedUpShards();
    const away = new Error('north is away');
    const failing: BackupStore = {
      write: (name, lines) =>
        name.startsWith('north/') ? Promise.reject(away) : store.write(name, lines),
      read: (name) => store.read(name),
      list: (prefix) => store.list(prefix),
      delete: (name) => store.delete(name),
    };
    const schedule = { to: failing, intervals, keep: 1 };
    const { made, failed } = await manager().backups.makeDue(schedule);
    assert.deepEqual(
      made.map(({ shard }) => shard),
      ['south'],
    );
    assert.deepEqual(failed, [{ shard: 'north', error: away }]);
    const next = await manager().backups.makeDue({ ...schedule, to: store });
    assert.deepEqual([shardsIn(next.made.map(({ name }) => name)), next.failed], [['north'], []]);
    clock.advanceMicros(24 * hourMs * 1000);
    const stopping = new AbortController();
    const stopped = new Error('stopped');
    const onProgress = () => stopping.abort(stopped);
    const last = { to: store, intervals, keep: 1, signal: stopping.signal, onProgress };
    await assert.rejects(manager().backups.makeDue(last), stopped);
    // Between two rows of the last table.
    const midway = new AbortController();
    const slow: BackupStore = {
      ...failing,
      write: async (_, lines) => {
        for await (const line of lines) if (line.includes('amount')) midway.abort(stopped);
      },
    };
    await manager().setShard('north', { holds: [] });
    const cut = { to: slow, intervals, keep: 1, signal: midway.signal };
    await assert.rejects(manager().backups.makeDue(cut), stopped);
  });

  it('tell how far they are, within a table too', async () => {
    const { shards, store, manager } = await backedUpShards();
    const south = shards.rows('south', 'orders');
    const order = south.all.find(({ rowKey }) => rowKey === '0001');
    assert.ok(order !== undefined);
    const { partitionKey, properties } = order;
    for (let id = 2; id <= 1100; id += 1) {
      const row = { partitionKey, rowKey: String(id).padStart(4, '0'), properties };
      south.apply([{ kind: 'insert', row }]);
    }
    const told: string[] = [];
    const onProgress = ({ shard, table, rows }: BackupProgress): void => {
      told.push(`${shard} ${table} ${rows}`);
    };
    const { made } = await manager().backups.makeDue({ to: store, intervals, keep: 1, onProgress });
    const [northern, southern] = made.map(({ tables }) => tables['orders']);
    const whole = [`north orders ${northern}`, `south orders ${southern}`];
    assert.deepEqual(told, [whole[0], 'south orders 1000', whole[1]]);
  });

  it('are not made of a shard that is detached and emptied meanwhile', async () => {
    const { shards, store, clock, manager } = await backedUpShards();
    const schedule = { intervals, keep: 1 };
    await manager().backups.makeDue({ ...schedule, to: store });
    const before = await manager().backups.namesOf(store, 'south');
    clock.advanceMicros(24 * hourMs * 1000);
    const slow = (during: string): BackupStore => ({
      write: async (name, lines) => {
        if (name.startsWith(during)) {
          await manager().detach('south');
          shards.restore('south', 'orders', new MemoryRows());
        }
        await store.write(name, lines);
      },
      read: (name) => store.read(name),
      list: (prefix) => store.list(prefix),
      delete: (name) => store.delete(name),
    });
    const kept = shards.rows('south', 'orders');
    for (const [during, message] of [
      ['south/', /was changed while it was backed up/],
      ['north/', /was detached/],
    ] as const) {
      const { failed } = await manager().backups.makeDue({ ...schedule, to: slow(during) });
      assert.deepEqual(
        failed.map(({ shard }) => shard),
        ['south'],
      );
      assert.match(String(failed[0]?.error), message);
      assert.deepEqual(await manager().backups.namesOf(store, 'south'), before);
      shards.restore('south', 'orders', kept);
      const map = await manager().open('orders', orderSchema);
      await manager().attach('south', [map], { keep: 'map', write: true });
      clock.advanceMicros(24 * hourMs * 1000);
    }
  });

  it('are not made of an account that is empty, or that of another shard', async () => {
    const { shards, store, clock, manager } = await backedUpShards();
    const schedule = { to: store, intervals, keep: 1 };
    await manager().backups.makeDue(schedule);
    const before = [...store.files.keys()];
    clock.advanceMicros(24 * hourMs * 1000);
    const swapped = shards.manager(undefined, { clock }, { north: 'south', south: 'north' });
    const { failed } = await swapped.backups.makeDue(schedule);
    assert.deepEqual(
      failed.map(({ error }) => error instanceof ShardTakenError),
      [true, true],
    );
    for (const name of ['north', 'south'] as const) {
      await manager().setShard(name, { status: 'offline' });
      shards.restore(name, 'orders', new MemoryRows());
    }
    const second = await manager().backups.makeDue(schedule);
    assert.equal(second.failed.length, 2);
    for (const { error } of second.failed) assert.match(String(error), /knows nothing of it/);
    assert.deepEqual([...store.files.keys()], before);
  });

  it('are made, and stay, after those of a clock that was ahead', async () => {
    const { shards, store, clock, manager } = await backedUpShards();
    const ahead = manualClock(Date.parse('2030-01-01T00:00:00Z') * 1000);
    const schedule = { to: store, intervals, keep: 1 };
    await shards.manager(undefined, { clock: ahead }).backups.makeDue(schedule);
    const { made, deleted } = await manager().backups.makeDue(schedule);
    assert.deepEqual([made.length, deleted.length], [2, 2]);
    const names = await manager().backups.namesOf(store, 'north');
    assert.deepEqual(names, [made[0]?.name]);
    assert.deepEqual((await manager().backups.makeDue(schedule)).made, []);
    clock.advanceMicros(hourMs * 1000);
    assert.equal((await manager().backups.makeDue(schedule)).made.length, 1);
  });

  it('count only with the files that they list', async () => {
    const { store, manager } = await backedUpShards();
    const thieved: BackupStore = {
      write: async (name, lines) => {
        await store.write(name, lines);
        if (name.endsWith('/backup.json'))
          await store.delete(name.replace('backup.json', 'orders.jsonl'));
      },
      read: (name) => store.read(name),
      list: (prefix) => store.list(prefix),
      delete: (name) => store.delete(name),
    };
    const { made, failed } = await manager().backups.makeDue({ to: thieved, intervals, keep: 1 });
    assert.deepEqual([made, failed.length], [[], 2]);
    assert.match(String(failed[0]?.error), /orders\.jsonl' was deleted while the backup was made/);
    assert.deepEqual([...store.files.keys()], []);
  });

  it('are whole or none wherever their program is killed, and the next call makes them', async () => {
    await crashEverywhere<BackedUpShards>({
      prepare: backedUpShards,
      run: ({ store, manager }, doomed) => {
        const wrap = <T extends object>(port: T): T => doomed.wrap(port);
        const requests = wrap({
          put: (name: string, lines: readonly string[]) => store.put(name, lines),
          list: (prefix: string) => store.list(prefix),
          delete: (name: string) => store.delete(name),
        });
        const to: BackupStore = {
          ...requests,
          // The lines come from the program: a kill among them leaves no file.
          write: async (name, lines) => requests.put(name, await linesIn(lines)),
          read: (name) => store.read(name),
        };
        return manager(wrap).backups.makeDue({ to, intervals, keep: 1 });
      },
      recover: async ({ store, manager, clock }) => {
        for (const name of await manager().backups.namesOf(store, 'north')) {
          assert.equal(store.files.has(`${name}orders.jsonl`), true);
        }
        await manager().backups.makeDue({ to: store, intervals, keep: 1 });
        for (const shard of ['north', 'south']) {
          assert.equal((await manager().backups.namesOf(store, shard)).length, 1);
        }
        // What was left is deleted by a backup of a later day.
        clock.advanceMicros(25 * hourMs * 1000);
        await manager().backups.makeDue({ to: store, intervals, keep: 1 });
      },
      check: async ({ store, manager }) => {
        for (const shard of ['north', 'south']) {
          assert.equal((await manager().backups.namesOf(store, shard)).length, 1);
        }
        assert.deepEqual(shardsIn([...store.files.keys()]).toSorted(), [
          'north',
          'north',
          'south',
          'south',
        ]);
      },
    });
  });

  it('are restored into a detached shard, which is attached then', async () => {
    const { shards, store, manager } = await backedUpShards();
    await manager().backups.makeDue({ to: store, intervals, keep: 1 });
    const [name = ''] = await manager().backups.namesOf(store, 'south');
    await assert.rejects(manager().backups.restore(store, name), /is online; detach it/);
    await manager().detach('south');
    await assert.rejects(manager().backups.restore(store, name), /has rows/);
    shards.restore('south', 'orders', new MemoryRows());
    const restored = await manager().backups.restore(store, name);
    assert.deepEqual(restored.tables, { orders: 7 });
    const again = manager().backups.restore(store, name, { resume: true });
    await assert.rejects(again, /no restore is there to resume/);
    const map = await manager().open('orders', orderSchema);
    await manager().attach('south', [map], { keep: 'map', write: true });
    assert.equal((await map.entities(Order).get({ customer: 500, id: 1 }))?.amount, 1);
    await map.unguarded.apply(moveShard('south', 'west'));
    await manager().detach('south');
    const file = `${name}orders.jsonl`;
    const whole = store.files.get(file) ?? [];
    shards.restore('south', 'orders', new MemoryRows());
    const refused = async (message: RegExp) => {
      for (const resume of [true, false]) {
        const restored = manager().backups.restore(store, name, { resume });
        await assert.rejects(restored, { name: 'ManagerError', message });
      }
      assert.deepEqual(shards.rows('south', 'orders').all, []);
    };
    store.files.set(file, whole.slice(1));
    await refused(/orders\.jsonl' has 6 of the 7 rows .* nothing was written: bring its file back/);
    store.files.set(file, [...whole.slice(1), (whole[0] ?? '').slice(0, 20)]);
    await refused(/orders\.jsonl': line 7 of the backup is no row/);
    store.files.delete(file);
    await refused(/orders\.jsonl' is not there/);
    store.files.set(`${name}backup.json`, ['{"shard":"south","tables":{"words":1}}']);
    await assert.rejects(manager().backups.restore(store, name), /no map has the table 'words'/);
    store.files.set(`${name}backup.json`, ['[]']);
    await assert.rejects(manager().backups.restore(store, name), DecodeError);
    await assert.rejects(manager().attach('x', [map], { keep: 'map' }), ManagerError);
  });
});

const stores: Readonly<Record<string, () => Promise<BackupStore>>> = {
  'a directory': () => Promise.resolve(backupFiles(join(directory, 'made'))),
  'a container of blobs': async () => {
    const container = service.getContainerClient('backups');
    await container.create();
    return backupBlobs(container);
  },
};

async function* linesOf(count: number): AsyncGenerator<string, void, undefined> {
  for (let line = 0; line < count; line += 1) yield `${String(line).padStart(999, 'ä')}\n`;
}

async function readAll(lines: AsyncIterable<string>): Promise<number> {
  let count = 0;
  for await (const line of lines) {
    assert.equal(line, String(count).padStart(999, 'ä'));
    count += 1;
  }
  return count;
}

/** A container whose program is killed before its n-th request. */
function killedBefore(container: ContainerClient, last: number): ContainerPort {
  let requests = 0;
  return {
    containerName: container.containerName,
    getBlobClient: (name) => container.getBlobClient(name),
    getAppendBlobClient: (name) => container.getAppendBlobClient(name),
    listBlobsFlat: (options) => container.listBlobsFlat(options),
    getBlockBlobClient: (name) =>
      wrappedMethods(container.getBlockBlobClient(name), (_, send) => {
        requests += 1;
        return requests < last ? send() : Promise.reject(new Error('killed'));
      }),
  };
}

describe('where backups are kept', () => {
  it('has no blob of what was killed before its last request', costly(), async () => {
    const container = service.getContainerClient('killed');
    await container.create();
    const store = backupBlobs(container);
    for (const [file, lines] of [
      ['empty', 0],
      ['small', 1],
      ['large', 3000],
    ] as const) {
      for (let last = 1; ; last += 1) {
        const killed = backupBlobs(killedBefore(container, last));
        const isWhole = await killed.write(`north/${file}`, linesOf(lines)).then(
          () => true,
          () => false,
        );
        assert.equal((await store.list(`north/${file}`)).length, isWhole ? 1 : 0);
        if (isWhole) break;
        assert.ok(last < 5);
      }
      assert.equal(await readAll(store.read(`north/${file}`)), lines);
    }
    // Over what a killed program has sent.
    await assert.rejects(
      backupBlobs(killedBefore(container, 3)).write('north/large', linesOf(3000)),
    );
    await store.write('north/large', linesOf(2));
    assert.equal(await readAll(store.read('north/large')), 2);
  });

  for (const [name, open] of Object.entries(stores)) {
    it(`has whole files by name: ${name}`, async () => {
      const store = await open();
      assert.deepEqual(await store.list(''), []);
      // More than one part.
      await store.write('north/2/orders.jsonl', linesOf(5000));
      await store.write('north/1/orders.jsonl', linesOf(0));
      await store.write('south/1/orders.jsonl', linesOf(1));
      await store.write('south/1/orders.jsonl', linesOf(2));
      assert.deepEqual(await store.list('north/'), [
        'north/1/orders.jsonl',
        'north/2/orders.jsonl',
      ]);
      assert.equal(await readAll(store.read('north/2/orders.jsonl')), 5000);
      assert.equal(await readAll(store.read('north/1/orders.jsonl')), 0);
      assert.equal(await readAll(store.read('south/1/orders.jsonl')), 2);
      await store.delete('north/2/orders.jsonl');
      await store.delete('north/2/orders.jsonl');
      assert.equal((await store.list('')).length, 2);
      await assert.rejects(readAll(store.read('north/2/orders.jsonl')));
    });
  }

  it('ends lines at line feeds alone, whatever rows hold', async () => {
    const store = backupFiles(join(directory, 'separators'));
    const texts = ['\u2028', '\u2029', '\u0085\r', 'ä😀'];
    const lines = texts.map((text) => JSON.stringify({ text: text.repeat(40_000) }));
    const written = async function* (): AsyncGenerator<string, void, undefined> {
      for (const line of lines) yield `${line}\n`;
    };
    await store.write('north/orders.jsonl', written());
    const found: string[] = [];
    for await (const line of store.read('north/orders.jsonl')) found.push(line);
    assert.ok(found.length === lines.length && found.every((line, at) => line === lines[at]));
  });

  it('is durable with every directory that leads to a file', async () => {
    const parent = join(directory, 'outer');
    const place = join(parent, 'inner');
    const synced: string[] = [];
    const open = () =>
      backupFiles(place, {
        sync: (each) => {
          synced.push(relative(directory, each).split(sep).join('/'));
          return Promise.resolve();
        },
      });
    assert.deepEqual(await open().list(''), []);
    assert.deepEqual(synced.splice(0), ['', 'outer']);
    await open().write('north/1/orders.jsonl', linesOf(1));
    const own = ['outer/inner/north/1', 'outer/inner/north', 'outer/inner'];
    assert.deepEqual(synced.splice(0), own);
    await open().write('orders.jsonl', linesOf(1));
    assert.deepEqual(synced.splice(0), ['outer/inner']);
    await rm(parent, { recursive: true });
    await open().write('north/1/orders.jsonl', linesOf(1));
    assert.deepEqual(synced, ['', 'outer', ...own]);
  });

  it('is told by its path where it cannot be one', async () => {
    const file = join(directory, 'no-directory');
    await writeFile(file, '');
    for (const place of [file, join(file, 'below')]) {
      const store = backupFiles(place);
      const refused = {
        name: 'ManagerError',
        message: new RegExp(`'${place}' cannot be used.*a file is where a directory should be`),
      };
      await assert.rejects(store.list(''), refused);
      await assert.rejects(store.write('orders.jsonl', linesOf(1)), refused);
    }
  });

  it('has no file of what failed, and none beside the directory', async () => {
    const place = join(directory, 'failing');
    const store = backupFiles(place);
    const failing = async function* (): AsyncGenerator<string, void, undefined> {
      yield 'one\n';
      throw new Error('it is away');
    };
    await assert.rejects(store.write('north/orders.jsonl', failing()), /it is away/);
    assert.deepEqual(await readdir(join(place, 'north')), []);
    await writeFile(join(place, 'north', 'x.partial'), '');
    assert.deepEqual(await store.list(''), ['north/x.partial']);
    await store.delete('north/x.partial');
    assert.deepEqual(await readdir(place), []);
    await store.write('orders.jsonl', linesOf(1));
    await store.delete('orders.jsonl');
    assert.deepEqual(await readdir(place), []);
    await assert.rejects(store.write('../x', linesOf(1)), ValueError);
  });
});
