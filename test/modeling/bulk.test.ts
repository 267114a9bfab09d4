import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import * as fc from 'fast-check';
import {
  bulk,
  defineEntity,
  entitiesOf,
  EntityExistsError,
  int32,
  key,
  RequestError,
  string,
  ValueError,
  writesOf,
  type BulkResult,
  type RowWrite,
  type TableGateway,
} from '../../src/modeling/index.js';
import { transactionBytes, transactionBytesMax } from '../../src/modeling/table/request-size.js';
import { startTables } from './support/observed-tables.js';
import { costly } from '../support/run-length.js';

const tables = await startTables();
after(() => tables[Symbol.asyncDispose]());

const Reading = defineEntity({
  type: 'Reading',
  properties: { device: int32(), at: int32(), text: string() },
  partitionKey: (p) => key`${p.device.padded(3)}`,
  rowKey: (p) => key`${p.at.padded(6)}`,
});
const write = writesOf(Reading, { stamp: false });
const reading = (device: number, at: number, text = 'x') => ({ device, at, text });

function unavailable(): RequestError {
  return new RequestError('503', { status: 503, code: 'ServerBusy' });
}

async function count(gateway: TableGateway): Promise<number> {
  return (await entitiesOf(Reading, gateway).scanTable().toArray({ max: 9999 })).length;
}

describe('bulk', () => {
  it(
    'writes thousands of rows in transactions of a hundred, whatever their order',
    costly(),
    async () => {
      const { gateway, reports } = await tables.newTable();
      const writes = Array.from({ length: 2000 }, (_unused, index) =>
        write.insert(reading((index * 7) % 10, index)),
      );
      const report = await bulk(gateway, writes);
      assert.deepEqual(
        [report.applied, report.failed, report.position, report.requests],
        [2000, 0, 2000, 20],
      );
      assert.ok(reports.every(({ kind, entities }) => kind === 'transaction' && entities === 100));
      assert.equal(await count(gateway), 2000);
    },
  );

  it('splits by bytes before a transaction is too large', costly(), async () => {
    const { gateway, reports } = await tables.newTable();
    const writes = Array.from({ length: 120 }, (_unused, at) =>
      write.upsertReplace(reading(1, at, '日'.repeat(32_000))),
    );
    assert.ok(transactionBytes(writes.slice(0, 100)) > transactionBytesMax);
    const report = await bulk(gateway, writes);
    assert.deepEqual([report.applied, report.failed], [120, 0]);
    assert.ok(reports.every(({ status }) => status === 202));
    assert.equal(await count(gateway), 120);
  });

  it('takes out what fails, and tells it, and writes the rest', async () => {
    const { gateway } = await tables.newTable();
    const readings = entitiesOf(Reading, gateway);
    await readings.insert(reading(1, 3, 'other'));
    const stored = await readings.insert(reading(1, 5, 'other'));
    await gateway.write(write.insert(reading(1, 7)));
    const writes = [
      ...Array.from({ length: 10 }, (_unused, at) =>
        at === 5
          ? write.replace({ ...stored, text: 'mine' }, { ifMatch: 'W/"x"' })
          : write.insert(reading(1, at)),
      ),
      write.delete({ device: 2, at: 1 }, { ifMatch: 'any' }),
    ];
    const results: BulkResult[] = [];
    const report = await bulk(gateway, writes, { onResult: (result) => results.push(result) });
    assert.deepEqual(
      [report.applied, report.unchanged, report.failed, report.position],
      [7, 2, 2, 11],
    );
    assert.deepEqual(
      report.failures.map(({ index, error }) => [index, error?.name]),
      [
        [3, 'EntityExistsError'],
        [5, 'ConditionFailedError'],
      ],
    );
    const outcomes = results.sort((left, right) => left.index - right.index);
    assert.deepEqual(outcomes.map(({ outcome }) => outcome[0]).join(''), 'aaafafauaau');
    assert.equal((await readings.get({ device: 1, at: 3 }))?.text, 'other');
  });

  it('keeps the order of writes of one row', costly(), async () => {
    const { gateway } = await tables.newTable();
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.nat(2), fc.nat(3)), { maxLength: 60 }),
        async (places) => {
          const last = new Map<string, number>();
          const writes = places.map(([device, at], index) => {
            last.set(`${device} ${at}`, index);
            return write.upsertReplace(reading(device, at, String(index)));
          });
          await bulk(gateway, writes, { concurrency: 4 });
          const readings = entitiesOf(Reading, gateway);
          for (const [place, index] of last) {
            const [device = 0, at = 0] = place.split(' ').map(Number);
            assert.equal((await readings.get({ device, at }))?.text, String(index));
          }
        },
      ),
      { numRuns: 25 },
    );
  });

  it('sends again what fails transiently, and recognises what was applied', async () => {
    const { gateway } = await tables.newTable();
    let calls = 0;
    const moody: TableGateway = {
      ...gateway,
      table: gateway.table,
      get: (rowKey) => gateway.get(rowKey),
      write: (one) => gateway.write(one),
      page: (query) => gateway.page(query),
      transact: async (writes) => {
        calls += 1;
        if (calls % 3 === 1) throw unavailable();
        const results = await gateway.transact(writes);
        // The transaction is applied and its response lost, so the repetition finds its own rows.
        if (calls % 3 === 2)
          throw new RequestError('reset', {
            status: 0,
            code: 'ECONNRESET',
            cause: Object.assign(new Error('reset'), { code: 'ECONNRESET' }),
          });
        return results;
      },
    };
    const writes = Array.from({ length: 30 }, (_unused, at) => write.insert(reading(1, at)));
    const report = await bulk(moody, writes, { timers: tables.hurriedTimers });
    assert.deepEqual([report.applied, report.unchanged, report.failed], [0, 30, 0]);
    assert.ok(report.requests < 10, `${report.requests} requests`);
    assert.equal(await count(gateway), 30);
  });

  it('gives up on what fails for ever, and says so for each row', async () => {
    const { gateway } = await tables.newTable();
    const dead: TableGateway = {
      ...gateway,
      table: gateway.table,
      write: () => Promise.reject(unavailable()),
      transact: () => Promise.reject(unavailable()),
    };
    const writes = Array.from({ length: 150 }, (_unused, at) => write.insert(reading(1, at)));
    const report = await bulk(dead, writes, {
      timers: tables.hurriedTimers,
      attemptsMax: 2,
      failuresMax: 10,
    });
    assert.deepEqual([report.failed, report.failures.length, report.requests], [150, 10, 4]);
  });

  it('resumes where it was stopped', costly(), async () => {
    const { gateway } = await tables.newTable();
    const controller = new AbortController();
    const positions: number[] = [];
    const writes = Array.from({ length: 3000 }, (_unused, index) =>
      write.insert(reading(index % 3, index)),
    );
    const options = {
      concurrency: 2,
      onPosition: (position: number) => {
        positions.push(position);
        if (position > 900) controller.abort();
      },
    };
    const first = await bulk(gateway, writes, { ...options, signal: controller.signal });
    assert.ok(first.position > 900 && first.position < 3000, String(first.position));
    assert.equal(positions.at(-1), first.position);
    const second = await bulk(gateway, writes, { from: first.position });
    assert.deepEqual([second.failed, second.position], [0, 3000]);
    assert.equal(second.applied + second.unchanged, 3000 - first.position);
    assert.equal(await count(gateway), 3000);
    const again = await bulk(gateway, writes.slice(0, 5));
    assert.deepEqual([again.unchanged, again.failed], [5, 0]);
  });

  it('reads what it writes as it goes, and passes on what that throws', costly(), async () => {
    const { gateway } = await tables.newTable();
    let given = 0;
    let settled = 0;
    let ahead = 0;
    async function* source(): AsyncGenerator<RowWrite> {
      for (let index = 0; index < 1_400; index++) {
        given += 1;
        ahead = Math.max(ahead, given - settled);
        yield await Promise.resolve(write.upsertReplace(reading(index % 300, index)));
      }
      throw new ValueError('no more');
    }
    const options = { concurrency: 2, onResult: () => (settled += 1) };
    await assert.rejects(bulk(gateway, source(), options), /no more/);
    assert.ok(ahead < 1200, `${ahead} writes were held`);
    const failing = bulk(gateway, [write.upsertReplace(reading(1, 1))], {
      onResult: () => {
        throw new Error('the callback failed');
      },
    });
    await assert.rejects(failing, /the callback failed/);
  });

  it('does not take another row for its own', async () => {
    const { gateway } = await tables.newTable();
    await gateway.write(write.insert(reading(1, 1, 'theirs')));
    const { failures } = await bulk(gateway, [write.insert(reading(1, 1, 'ours'))]);
    assert.ok(failures[0]?.error instanceof EntityExistsError);
  });
});
