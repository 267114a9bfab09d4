import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { TableClient, type TransactionAction } from '@azure/data-tables';
import { BlobServiceClient } from '@azure/storage-blob';
import { RemotePartitions } from '../../src/cli/partition/remote.js';
import { emptied } from '../../src/cli/partition/stores.js';
import { jobEnd, jobResult, operationEnd } from '../../src/cli/partition/waiting.js';
import type { ServerOptions } from '../../src/app/options/table.js';
import { createServer, type TabulariumServer } from '../../src/app/server.js';
import {
  isCancelResult,
  isPartitionsInfo,
  isStarted,
  isVerifyResult,
} from '../../src/http/control/job-results.js';
import type { Started } from '../../src/http/control/partitions.js';
import { byLength, costly } from '../support/run-length.js';

const account = 'devstoreaccount1';
const key = Buffer.alloc(64, 'key').toString('base64');
const place = `table/${account}/movies`;
const partitions = ['action', 'comedy', 'drama', 'western'];

void describe('a server over several stores', () => {
  let server: TabulariumServer;
  let control: RemotePartitions;
  let movies: TableClient;
  let folder = '';
  const etags = new Map<string, string | undefined>();
  let backedUp: ReadonlyMap<string, string | undefined> = etags;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tabularium-partitions-'));
    const stores = { b: { inMemory: true }, c: { inMemory: true } };
    const accounts = [account, 'other'].map((name) => ({ name, keys: [key] }));
    server = await createServer({ inMemory: true, stores, accounts, controlPort: 0 });
    control = new RemotePartitions(server.controlPort ?? 0);
    movies = TableClient.fromConnectionString(server.connectionString(), 'movies', {
      allowInsecureConnection: true,
    });
    await movies.createTable();
    for (const partitionKey of partitions) {
      for (const rowKey of ['1', '2', '3']) {
        const { etag } = await movies.createEntity({ partitionKey, rowKey });
        etags.set(`${partitionKey} ${rowKey}`, etag);
      }
    }
  });
  after(async () => {
    await server.close();
    await rm(folder, { recursive: true, force: true });
  });

  /** The number of the range that begins at a place. */
  async function rangeFrom(from: string): Promise<number> {
    const { ranges } = await control.list();
    const found = ranges.find((range) => range.from === from);
    assert.ok(found !== undefined, JSON.stringify(ranges));
    return found.range;
  }

  async function storeNamed(name: string) {
    return (await control.list()).stores.find(({ store }) => store === name);
  }

  /** A backup is no data to serve. */
  async function refusedAlone(location: string): Promise<void> {
    await assert.rejects(createServer({ location }), /is a backup of some partitions/);
  }

  async function done({ operation }: { readonly operation: number }): Promise<void> {
    assert.equal((await operationEnd(control, operation)).state, 'done');
  }

  async function halved(range: number): Promise<Started> {
    return jobResult(control, (await control.halve(range)).job, isStarted);
  }

  async function stored(): Promise<ReadonlyMap<string, string | undefined>> {
    const found = new Map<string, string | undefined>();
    for await (const { partitionKey, rowKey, etag } of movies.listEntities()) {
      found.set(`${partitionKey} ${rowKey}`, etag);
    }
    return found;
  }

  void it('splits and moves what tables have, and serves it as before', async () => {
    await done(await control.split(await rangeFrom('queue'), `${place}/comedy`));
    await done(await control.split(await rangeFrom(`${place}/comedy`), `${place}/western`));
    await done(await control.move(await rangeFrom(`${place}/comedy`), 'b'));
    await done(await control.move(await rangeFrom(`${place}/western`), 'c', 500));
    assert.deepEqual(await stored(), etags);
    const { job } = await control.sizes();
    const { ranges, stores } = await jobResult(control, job, isPartitionsInfo);
    const [, , comedy, western] = ranges;
    assert.deepEqual([comedy?.from, comedy?.store, comedy?.keys], [`${place}/comedy`, 'b', 6]);
    // Behind it there may be tables of metrics.
    assert.deepEqual([western?.from, western?.store], [`${place}/western`, 'c']);
    assert.deepEqual(
      stores.map(({ store, ranges: count, isHome }) => [store, count, isHome]),
      [
        ['b', 1, false],
        ['c', 1, false],
        ['home', 2, true],
      ],
    );
    const { etag } = await movies.createEntity({ partitionKey: 'western', rowKey: '4' });
    etags.set('western 4', etag);
    assert.deepEqual(await stored(), etags);
  });

  void it('tells how many ranges a query has read', async () => {
    const rangesOf = async (filter: string) => {
      const plans: string[] = [];
      const onResponse = ({ headers }: { headers: { get(name: string): string | undefined } }) =>
        plans.push(headers.get('x-tabularium-plan') ?? '');
      await movies.listEntities({ queryOptions: { filter }, onResponse }).next();
      return plans.map((plan) => /;ranges=(\d+)$/.exec(plan)?.[1]);
    };
    assert.deepEqual(await rangesOf("PartitionKey eq 'action'"), ['1']);
    assert.deepEqual(await rangesOf("PartitionKey ge 'comedy'"), ['2']);
    const points = "RowKey eq '1' and (PartitionKey eq 'action' or PartitionKey eq 'western')";
    assert.deepEqual(await rangesOf(points), ['2']);
    assert.deepEqual(await rangesOf(''), ['3']);
  });

  void it('counts calls and moves for Prometheus', async () => {
    const answer = await fetch(`http://127.0.0.1:${server.controlPort ?? 0}/partitions/metrics`);
    assert.match(answer.headers.get('content-type') ?? '', /^text\/plain; version=0\.0\.4/);
    const text = await answer.text();
    const value = (name: string) => {
      const line = text
        .split('\n')
        .find((each) => each.startsWith(`tabularium_partition_${name} `));
      return Number(line?.split(' ').at(-1));
    };
    assert.equal(value('ranges{store="b"}'), 1);
    assert.equal(value('ops_total{kind="move",result="done"}'), 2);
    assert.equal(value('ops_total{kind="split",result="done"}'), 2);
    assert.equal(value('move_pause_seconds_count{kind="write"}'), 2);
    assert.ok(value('move_pause_seconds_sum{kind="write"}') > 0);
    assert.ok(value('requests_total{store="c",kind="write"}') > 0);
    assert.ok(value('guard_refusals_total') > 0);
    assert.ok(value('moved_bytes_total') > 0);
  });

  void it('has gauges of what a plan has found only where one was made', async () => {
    const metrics = async () => {
      const answer = await fetch(`http://127.0.0.1:${server.controlPort ?? 0}/partitions/metrics`);
      return answer.text();
    };
    const ofPlans = /^tabularium_partition_(hot_partitions|bytes\{store="b"\}) \d/gm;
    assert.deepEqual((await metrics()).match(ofPlans), null);
    await control.balance(true);
    assert.equal((await metrics()).match(ofPlans)?.length, 2);
  });

  void it('finds by itself where a range has halves', async () => {
    const range = await rangeFrom(`${place}/comedy`);
    await done(await halved(range));
    const half = await rangeFrom(`${place}/comedy`);
    await assert.rejects(halved(half), (error: Error) => {
      assert.equal(error.name, 'UsageError');
      assert.match(error.message, /fewer than two partitions/);
      return true;
    });
    await assert.rejects(halved(999), /no range 999/);
    await done(
      await control.merge(await rangeFrom(`${place}/comedy`), await rangeFrom(`${place}/drama`)),
    );
  });

  void it('keeps blobs in the home store, where they are stored as before', async () => {
    const blobs = BlobServiceClient.fromConnectionString(server.connectionString());
    const box = blobs.getContainerClient('box');
    await box.create();
    const bytes = Buffer.alloc(100_000, 'content');
    await box.uploadBlockBlob('large', bytes, bytes.length);
    await box.uploadBlockBlob('large', 'small', 5);
    assert.equal((await box.getBlobClient('large').downloadToBuffer()).toString(), 'small');
    const range = await rangeFrom('');
    await assert.rejects(() => control.move(range, 'b'), /Blobs stay in the home store/);
  });

  void it('refuses what cannot be done, and says what to do', async () => {
    const first = await rangeFrom('queue');
    const western = await rangeFrom(`${place}/western`);
    const comedy = await rangeFrom(`${place}/comedy`);
    const cases: [() => Promise<unknown>, RegExp][] = [
      [() => control.move(999, 'b'), /no range 999.*See the list/],
      [() => control.move(western, 'd'), /no store 'd'; there is: home, b, c/],
      [() => control.move(western, 'c'), /already/],
      [() => control.merge(first, western), /begin where the first one ends/],
      [() => control.merge(comedy, western), /different stores/],
      [() => control.split(western, `${place}/action`), /not inside of range/],
      [() => control.split(western, '~~'), /not inside of range \d+.*begins with table or queue/],
      [
        () => control.split(western, 'table/devstoreaccount1/absent'),
        /does not exist, or .* such as/,
      ],
    ];
    for (const [ask, message] of cases) {
      await assert.rejects(ask, (error: Error) => {
        assert.equal(error.name, 'UsageError');
        assert.match(error.message, message);
        return true;
      });
    }
    assert.equal(await control.operation(999), undefined);
    const { job } = await control.cancel(999);
    assert.deepEqual(await jobResult(control, job, isCancelResult), { cancelled: false });
  });

  void it('takes a store in, empties it and takes it out', async () => {
    await control.addStore('d', { inMemory: true });
    const western = await rangeFrom(`${place}/western`);
    await done(await control.move(western, 'd'));
    await assert.rejects(() => control.removeStore('d'), /has ranges.*store drain d/);
    await assert.rejects(() => control.drainStore('home'), /it stays/);
    await assert.rejects(() => control.drainStore('e'), /no store 'e'; there is: home, b, c, d/);
    await control.drainStore('d');
    const comedy = await rangeFrom(`${place}/comedy`);
    await assert.rejects(() => control.move(comedy, 'd'), /is being emptied/);
    await emptied(control, 'd');
    assert.equal((await storeNamed('d'))?.ranges, 0);
    assert.deepEqual(await stored(), etags);
    await control.addStore('d', {});
    assert.equal((await storeNamed('d'))?.state, 'active');
    await control.removeStore('d');
    assert.equal(await storeNamed('d'), undefined);
    await assert.rejects(() => control.addStore('Home', {}), /cannot name a store/);
    await assert.rejects(() => control.addStore('f', {}), /needs one of location/);
  });

  void it('serves what a store had that was emptied and taken out before anybody asked again', async () => {
    await control.addStore('d', { inMemory: true });
    const western = await rangeFrom(`${place}/western`);
    await done(await control.move(western, 'd'));
    assert.deepEqual(await stored(), etags);
    await control.drainStore('d');
    await emptied(control, 'd');
    await control.removeStore('d');
    assert.deepEqual(await stored(), etags);
  });

  void it('restores a range as it was when it was backed up', async () => {
    const directory = join(folder, 'backup');
    const comedy = await rangeFrom(`${place}/comedy`);
    const copied = await control.backUp(comedy, directory);
    await jobEnd(control, copied.job);
    const western = await rangeFrom(`${place}/western`);
    await assert.rejects(() => control.restore(western, directory), /does not have all of them/);
    await assert.rejects(() => control.restore(comedy, directory), /has entries/);
    await assert.rejects(() => control.backUp(western, directory), /is not empty/);
    const none = join(folder, 'none');
    await assert.rejects(() => control.restore(comedy, none), /no whole backup/);
    const first = await rangeFrom('');
    await assert.rejects(() => control.backUp(first, none), /Blobs stay/);
    await refusedAlone(directory);
    for (const partitionKey of ['comedy', 'drama']) {
      for (const rowKey of ['1', '2', '3']) await movies.deleteEntity(partitionKey, rowKey);
    }
    const back = await control.restore(comedy, directory);
    await jobEnd(control, back.job);
    assert.deepEqual(await stored(), etags);
    backedUp = new Map(etags);
    const { etag } = await movies.upsertEntity({ partitionKey: 'comedy', rowKey: '1' });
    assert.ok(String(etag) > String(etags.get('comedy 1')), 'versions go on behind the restored');
    etags.set('comedy 1', etag);
  });

  void it('restores a range into a table of another account', async () => {
    const other = TableClient.fromConnectionString(server.connectionString('other'), 'copies', {
      allowInsecureConnection: true,
    });
    await other.createTable();
    const directory = join(folder, 'backup');
    const copies = 'table/other/copies';
    await done(await control.split(await rangeFrom(`${place}/western`), copies));
    const range = await rangeFrom(copies);
    const cases: [string, RegExp][] = [
      ['table/other/absent', /is no table or queue/],
      ['table/other', /is no table or queue/],
      [`${copies}/comedy`, /is no table or queue/],
      ['table/other/#99', /is no table or queue.*It must exist, also where # and its number/],
      ['table/#1/copies', /is no table or queue/],
      ['blob/other/#1', /is no table or queue/],
      [place, /range \d+ does not have all of them/],
    ];
    for (const [as, message] of cases) {
      await assert.rejects(() => control.restore(range, directory, { as }), message);
    }
    // The number of the only table of its account.
    const { job } = await control.restore(range, directory, { as: 'table/other/#1' });
    await jobEnd(control, job);
    const found: string[] = [];
    for await (const { partitionKey, rowKey, etag } of other.listEntities()) {
      assert.equal(etag, backedUp.get(`${partitionKey} ${rowKey}`));
      found.push(`${partitionKey} ${rowKey}`);
    }
    assert.deepEqual(
      found,
      [...etags.keys()].filter((name) => /^(comedy|drama)/.test(name)),
    );
    assert.deepEqual(await stored(), etags);
    await done(await control.merge(await rangeFrom(`${place}/western`), range));
  });

  void it('plans from the load, and tells of it', async () => {
    const plan = await control.balance(true);
    assert.deepEqual(plan.begun, []);
    assert.ok(Array.isArray(plan.operations) && Array.isArray(plan.findings));
  });

  void it('verifies that map and stores agree', async () => {
    const { job } = await control.verify({ repair: true, keysPerSecond: 1_000_000 });
    assert.deepEqual(await jobResult(control, job, isVerifyResult), { findings: [], repaired: [] });
    const one = await control.verify({ range: await rangeFrom(`${place}/comedy`) });
    assert.deepEqual(await jobResult(control, one.job, isVerifyResult), {
      findings: [],
      repaired: [],
    });
    await assert.rejects(() => control.verify({ range: 999 }), /no range 999/);
    await assert.rejects(() => control.verify({ keysPerSecond: 0 }), /whole number above 0/);
  });

  void it('shows each entity once to a query during moves', costly(), async () => {
    const { entities, moves } = byLength({
      short: { entities: 1_200, moves: 4 },
      long: { entities: 100_000, moves: 20 },
    });
    const many = TableClient.fromConnectionString(server.connectionString(), 'many', {
      allowInsecureConnection: true,
    });
    await many.createTable();
    const partitionOf = (group: number) => `p${String(group % 24).padStart(2, '0')}`;
    const expected: string[] = [];
    for (let group = 0; group < entities / 100; group += 1) {
      const partitionKey = partitionOf(group);
      const rows = Array.from({ length: 100 }, (_, row) => String(group * 100 + row + 1_000_000));
      await many.submitTransaction(
        rows.map((rowKey): TransactionAction => ['create', { partitionKey, rowKey }]),
      );
      expected.push(...rows.map((rowKey) => `${partitionKey} ${rowKey}`));
    }
    const table = `table/${account}/many`;
    await done(await control.split(await rangeFrom(`${place}/western`), table));
    await done(await control.split(await rangeFrom(table), `${table}/p08`));
    await done(await control.split(await rangeFrom(`${table}/p08`), `${table}/p16`));
    const moved = (async () => {
      const places = [`${table}/p16`, table, `${table}/p08`];
      for (let count = 0; count < moves; count += 1) {
        const range = await rangeFrom(places[count % places.length] ?? table);
        const { ranges } = await control.list();
        const { store } = ranges.find((each) => each.range === range) ?? {};
        const target = ['home', 'b', 'c'].filter((each) => each !== store)[count % 2] ?? 'b';
        await done(await control.move(range, target));
      }
    })();
    const end = new AbortController();
    const over = moved.finally(() => end.abort());
    const readAll = async () => {
      const found: string[] = [];
      const pages = many.listEntities().byPage({ maxPageSize: 100 });
      for await (const page of pages) {
        for (const { partitionKey, rowKey } of page) found.push(`${partitionKey} ${rowKey}`);
      }
      assert.deepEqual(found, expected.toSorted());
    };
    const reads = (async () => {
      do await readAll();
      while (!end.signal.aborted);
    })();
    await Promise.all([over, reads]);
  });
});

void describe('data of several stores', () => {
  let folder = '';
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tabularium-stores-'));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  const directory = (name: string): string => join(folder, name);
  const refused = (options: ServerOptions, message: RegExp) =>
    assert.rejects(createServer(options), (error: Error) => {
      assert.match(error.message, message);
      return true;
    });

  void it('are not opened with options that contradict each other', async () => {
    const location = directory('never');
    const postgresUrl = 'postgres://nobody@127.0.0.1:1/none';
    const cases: [ServerOptions, RegExp][] = [
      [{ location, stores: { home: { location: 'x' } } }, /stores\.home is the name of the home/],
      [{ location, stores: { b: {} } }, /needs one of location, postgresUrl and inMemory/],
      [{ location, stores: { b: { location: 'x', postgresUrl } } }, /needs one of location/],
      [{ location, stores: { b: { inMemory: true } } }, /in memory when the home store is/],
      [{ location, stores: { b: { location } } }, /is that of the home store/],
      [{ location, stores: { b: { location: 'x', postgresSchema: 's' } } }, /for a postgresUrl/],
      [
        { location, postgresUrl, postgresReplicas: postgresUrl, stores: {} },
        /postgresReplicas shows one database/,
      ],
    ];
    for (const [options, message] of cases) await refused(options, message);
  });

  void it('are opened with all stores, each by its name, and not otherwise', costly(), async () => {
    const location = directory('home');
    const b = { location: directory('b') };
    const server = await createServer({ location, stores: { b } });
    await server.close();
    await refused({ location }, /home are spread over several stores.*Name the stores/);
    await refused({ location: b.location }, /b is the store 'b' of several/);
    await refused({ location, stores: {} }, /'b' \(.*b\) is not among those that were named/);
    await refused({ location, stores: { c: b } }, /b is the store 'b' of its data/);
    await refused({ location: b.location, stores: {} }, /is the store 'b' of its data/);
    await refused({ location: directory('other'), stores: { b } }, /belongs to other data/);
    const plain = await createServer({ location: directory('plain') });
    await TableClient.fromConnectionString(plain.connectionString(), 'people', {
      allowInsecureConnection: true,
    }).createTable();
    await plain.close();
    const added = { b, d: { location: directory('plain') } };
    await refused({ location, stores: added }, /plain has data of its own/);
    // What a refused start has named is no store of the data.
    const missing = { c: { location: directory('c') } };
    await refused({ location, stores: missing }, /'b' \(.*b\) is not among those/);
    const again = await createServer({ location, stores: { b } });
    await again.close();
    await (await createServer({ location: directory('other') })).close();
    await (await createServer(missing.c)).close();
  });

  void it(
    'are not opened when the place of a store is empty, as an unmounted disk is',
    costly(),
    async () => {
      const location = directory('mounted-home');
      const b = { location: directory('mounted-b') };
      const options = { location, stores: { b }, controlPort: 0 };
      const people = (server: TabulariumServer) =>
        TableClient.fromConnectionString(server.connectionString(), 'people', {
          allowInsecureConnection: true,
        });
      const server = await createServer(options);
      await people(server).createTable();
      await people(server).createEntity({ partitionKey: 'm', rowKey: '1' });
      const control = new RemotePartitions(server.controlPort ?? 0);
      const split = await control.split(2, `table/${account}/people/b`);
      await operationEnd(control, split.operation);
      const last = (await control.list()).ranges.at(-1)?.range ?? 0;
      await operationEnd(control, (await control.move(last, 'b')).operation);
      await server.close();

      const elsewhere = directory('mounted-elsewhere');
      await rename(b.location, elsewhere);
      for (const journal of ['on', 'off'] as const) {
        await refused({ ...options, journal }, /mounted-b has nothing of the store 'b'.*mounted/);
        await assert.rejects(stat(b.location), { code: 'ENOENT' }, 'nothing was made there');
      }
      await mkdir(b.location);
      await refused(options, /mounted-b has nothing of the store 'b'/);
      assert.deepEqual(await readdir(b.location), []);
      // A directory with other data is no better.
      await (await createServer({ location: b.location })).close();
      await refused(options, /mounted-b has nothing of the store 'b'/);
      await rm(b.location, { recursive: true });
      await rename(elsewhere, b.location);
      const again = await createServer(options);
      assert.equal((await people(again).getEntity('m', '1')).rowKey, '1');
      await again.close();
    },
  );

  void it(
    'are not opened with another place by the name of a store without ranges',
    costly(),
    async () => {
      const location = directory('named-home');
      const b = { location: directory('named-b') };
      await (await createServer({ location, stores: { b } })).close();
      const other = { location: directory('named-other') };
      await refused(
        { location, stores: { b: other } },
        /named-other is not the store 'b'.*named-b/,
      );
      await assert.rejects(stat(other.location), { code: 'ENOENT' }, 'nothing was made there');
      await (await createServer({ location, stores: { b, c: other } })).close();
    },
  );
});
