import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import * as fc from 'fast-check';
import { comparison, filterOver, trickyText } from '../../../test/support/edm-arbitraries.js';
import { matches } from '../../../test/support/filter-oracle.js';
import {
  account,
  entity,
  failsWith,
  int,
  openService,
  property,
  text,
  type ServiceOptions,
} from '../../../test/support/table-services.js';
import { manualClock } from '../../base/clock.js';
import { decodeBag, propertyBagOf, textEnd } from '../../model/bag/bag.js';
import type { ComparisonOperator, Filter } from '../../model/edm/filter.js';
import { StorageError } from '../../model/errors/storage-error.js';
import type { EntityInput, StoredEntity } from '../../model/edm/value.js';
import { defaultQueryBudget } from './query.js';
import type { TableService } from './table-service.js';
import type { EntityPage, EntityPosition, EntityQuery, EntitySink } from './types.js';
import { costly } from '../../../test/support/run-length.js';

const and = (...operands: readonly Filter[]): Filter => ({ kind: 'and', operands });
const or = (...operands: readonly Filter[]): Filter => ({ kind: 'or', operands });

function compare(name: string, operator: ComparisonOperator, value: string | number): Filter {
  const literal = typeof value === 'string' ? text(value) : int(value);
  return { kind: 'comparison', property: name, operator, literal };
}

async function openTable(
  t: TestContext,
  entities: readonly EntityInput[],
  engine: 'memory' | 'lmdb' = 'memory',
  options: ServiceOptions = {},
) {
  const { service } = await openService[engine](t, options);
  await service.createTable(account, 'data');
  await Promise.all(
    entities.map((given) => service.write(account, 'data', { kind: 'insert', entity: given })),
  );
  const query = (given: EntityQuery = {}) => service.queryEntities(account, 'data', given);
  return { service, query };
}

/** An entity as plain values, so that views of memory compare by what they show. */
function shown({ partitionKey, rowKey, version, bag }: StoredEntity): string {
  return `${partitionKey}/${rowKey} ${version} ${Buffer.from(bag).toString('hex')}`;
}

function keysOf(page: EntityPage): string[] {
  return page.entities.map(({ partitionKey, rowKey }) => `${partitionKey}/${rowKey}`);
}

/** All pages of a query, each followed by its token. */
async function pages(service: TableService, query: EntityQuery): Promise<EntityPage[]> {
  const read: EntityPage[] = [];
  let from: EntityPosition | undefined = query.from;
  for (let count = 0; count < 10_000; count += 1) {
    const given = from === undefined ? query : { ...query, from };
    const page = await service.queryEntities(account, 'data', given);
    read.push(page);
    if (page.next === undefined) return read;
    from = page.next;
  }
  throw new Error('a query without end');
}

function grid(partitions: number, rows: number): EntityInput[] {
  return Array.from({ length: partitions * rows }, (_, index) => {
    const row = index % rows;
    return entity(`p${Math.floor(index / rows)}`, `r${String(row).padStart(4, '0')}`, { n: row });
  });
}

for (const engine of ['memory', 'lmdb'] as const) {
  describe(`a query over ${engine}`, () => {
    it('counts what it has read before it goes on, and ends where memory is short', async (t) => {
      const long = propertyBagOf([property('long', text('x'.repeat(30_000)))]);
      const rows = Array.from({ length: 10 }, (_, row): EntityInput => {
        return { partitionKey: 'p', rowKey: `r${row}`, properties: long };
      });
      const { service } = await openTable(t, rows, engine);
      const held: number[] = [];
      const memory = { hold: (bytes: number) => void held.push(bytes), enter: () => undefined };
      const points = or(...rows.map(({ rowKey }) => compare('RowKey', 'eq', rowKey)));
      const filter = and(compare('PartitionKey', 'eq', 'p'), points);
      const page = await service.queryEntities(account, 'data', { filter }, memory);
      assert.equal(page.entities.length, 10);
      assert.ok(held.length > 1, 'points are read a few at a time');
      const stored = page.entities.reduce((sum, { bag }) => sum + bag.length, 0);
      assert.deepEqual(
        [...held].sort((one, other) => one - other),
        held,
      );
      assert.ok((held.at(-1) ?? 0) >= stored);
      const full = {
        ...memory,
        hold: (bytes: number): void => {
          if (bytes > 100_000) throw new StorageError('ServerBusy');
        },
      };
      const refused = service.queryEntities(account, 'data', { filter }, full);
      await assert.rejects(refused, failsWith('ServerBusy'));
    });

    it(
      'returns the rows that the filter matches, in order, whatever the page size',
      costly(),
      async (t) => {
        const texts = ['', 'a', 'B', 'b', '"', 'é', '\ue000', '😀', '\ud83d'];
        const rows = texts.flatMap((pk, p) =>
          texts.map((rk, r) => entity(pk, rk, (p + r) % 3 === 0 ? {} : { n: (p * r) % 4 })),
        );
        const { service, query } = await openTable(t, rows, engine);
        const stored = (await query()).entities.map(({ partitionKey, rowKey, version, bag }) => ({
          partitionKey,
          rowKey,
          version,
          properties: decodeBag(bag),
        }));
        const sorted = rows
          .map(({ partitionKey, rowKey }) => [partitionKey, rowKey] as const)
          .sort(([a, b], [c, d]) => (a === c ? (b < d ? -1 : 1) : a < c ? -1 : 1));
        assert.deepEqual(
          stored.map(({ partitionKey, rowKey }) => [partitionKey, rowKey]),
          sorted,
        );
        const onKeys = comparison(fc.constantFrom('PartitionKey', 'RowKey'), trickyText.map(text));
        const onN = comparison(fc.constant('n'), fc.integer({ min: 0, max: 3 }).map(int));
        await fc.assert(
          fc.asyncProperty(
            filterOver(fc.oneof(onKeys, onN)),
            fc.integer({ min: 1, max: 90 }),
            async (filter, top) => {
              const read = await pages(service, { filter, top });
              const expected = stored.filter((found) => matches(filter, found));
              assert.deepEqual(
                read.flatMap(keysOf),
                expected.map(({ partitionKey, rowKey }) => `${partitionKey}/${rowKey}`),
              );
              assert.ok(read.every(({ entities }) => entities.length <= top));
            },
          ),
          { numRuns: engine === 'memory' ? 300 : 60 },
        );
      },
    );

    it('is the same page where a sink takes the first of its entities', async (t) => {
      const { query } = await openTable(t, grid(5, 12), engine);
      const onN = comparison(fc.constant('n'), fc.integer({ min: 0, max: 11 }).map(int));
      const from = fc.constantFrom<EntityPosition | undefined>(undefined, { partitionKey: 'p2' });
      await fc.assert(
        fc.asyncProperty(
          filterOver(onN),
          fc.integer({ min: 1, max: 70 }),
          fc.nat({ max: 70 }),
          from,
          async (filter, top, room, position) => {
            const given = { filter, top, ...(position !== undefined && { from: position }) };
            const taken: StoredEntity[] = [];
            const sink: EntitySink = {
              accepts: () => taken.length < room,
              take: (each) => {
                const bag = Buffer.from(each.bag.subarray(0, textEnd(each.bag)));
                taken.push({ ...each, bag });
              },
            };
            const page = await query({ ...given, sink });
            const plain = await query(given);
            assert.equal(taken.length, Math.min(room, plain.entities.length));
            assert.deepEqual(
              { ...page, entities: [...taken, ...page.entities].map(shown) },
              { ...plain, entities: plain.entities.map(shown) },
            );
            const keys = plain.entities.map(({ partitionKey }) => partitionKey);
            assert.deepEqual(
              page.partitions,
              [...new Set(keys)].map((partitionKey) => {
                return { partitionKey, count: keys.filter((key) => key === partitionKey).length };
              }),
            );
          },
        ),
        { numRuns: engine === 'memory' ? 150 : 40 },
      );
    });

    it('returns 1,000 entities and where to go on; none after an exactly full page', async (t) => {
      const { query } = await openTable(t, grid(1, 1001), engine);
      const first = await query();
      assert.equal(first.entities.length, 1000);
      assert.deepEqual(first.next, { partitionKey: 'p0', rowKey: 'r1000' });
      const second = await query({ from: { partitionKey: 'p0', rowKey: 'r0001' } });
      assert.equal(second.entities.length, 1000);
      assert.equal(second.next, undefined);
    });
  });
}

describe('a page', () => {
  it('of no entities is empty and final', async (t) => {
    const { query } = await openTable(t, grid(1, 3));
    const page = await query({ top: 0 });
    assert.deepEqual(page.entities, []);
    assert.equal(page.next, undefined);
  });

  for (const top of [-1, 1001, 0.5, Number.NaN]) {
    it(`of ${top} is refused`, async (t) => {
      const { query } = await openTable(t, []);
      await assert.rejects(query({ top }), failsWith('InvalidInput'));
    });
  }

  it('names the next match, and none when no other row matches', async (t) => {
    const { query } = await openTable(t, grid(2, 10));
    const filter = or(compare('n', 'eq', 3), compare('n', 'eq', 7));
    const first = await query({ filter, top: 1 });
    assert.deepEqual(first.next, { partitionKey: 'p0', rowKey: 'r0007' });
    const last = await query({ filter, top: 1, from: { partitionKey: 'p1', rowKey: 'r0004' } });
    assert.deepEqual(keysOf(last), ['p1/r0007']);
    assert.equal(last.next, undefined);
  });

  it('names the next row to look at when a match is too far', async (t) => {
    const budget = { ...defaultQueryBudget, lookaheadRowsMax: 5 };
    const { query } = await openTable(t, grid(1, 100), 'memory', { budget });
    const page = await query({ filter: or(compare('n', 'eq', 3), compare('n', 'eq', 90)), top: 1 });
    assert.deepEqual(keysOf(page), ['p0/r0003']);
    assert.deepEqual(page.next, { partitionKey: 'p0', rowKey: 'r0009' });
  });

  it('starts at a position that holds nothing, is gone or cannot be', async (t) => {
    const { query } = await openTable(t, grid(3, 2));
    const from = async (partitionKey: string, rowKey?: string) =>
      keysOf(
        await query({ from: rowKey === undefined ? { partitionKey } : { partitionKey, rowKey } }),
      );
    assert.deepEqual(await from('p1'), ['p1/r0000', 'p1/r0001', 'p2/r0000', 'p2/r0001']);
    assert.deepEqual(await from('p1', 'r00005'), ['p1/r0001', 'p2/r0000', 'p2/r0001']);
    assert.deepEqual(await from('p1', 'z'), ['p2/r0000', 'p2/r0001']);
    assert.deepEqual(await from('p1\u0000', ''), ['p2/r0000', 'p2/r0001']);
    assert.deepEqual(await from(`p1${'\u0000'.repeat(3000)}`, '\u0000'.repeat(3000)), [
      'p2/r0000',
      'p2/r0001',
    ]);
    assert.deepEqual(await from('p2', `r0000${'z'.repeat(5000)}`), ['p2/r0001']);
    assert.deepEqual(await from('q'), []);
  });

  it('skips the intervals before its position', async (t) => {
    const { query } = await openTable(t, grid(3, 4));
    const filter = or(
      and(compare('PartitionKey', 'eq', 'p0'), compare('RowKey', 'eq', 'r0001')),
      and(compare('PartitionKey', 'eq', 'p1'), compare('RowKey', 'ge', 'r0002')),
      compare('PartitionKey', 'gt', 'p1'),
    );
    assert.equal((await query({ filter })).report.intervals, 3);
    const page = await query({ filter, from: { partitionKey: 'p1', rowKey: 'r0003' } });
    assert.deepEqual(keysOf(page), ['p1/r0003', 'p2/r0000', 'p2/r0001', 'p2/r0002', 'p2/r0003']);
    assert.equal(page.report.rowsScanned, 5);
  });

  it('ends at 4 MiB, after one entity at least', async (t) => {
    const big = (index: number): EntityInput => ({
      partitionKey: 'p',
      rowKey: `r${index}`,
      properties: propertyBagOf(
        Array.from({ length: 10 }, (_, n) =>
          property(`b${n}`, { type: 'Edm.Binary', value: new Uint8Array(65_000) }),
        ),
      ),
    });
    const entities = Array.from({ length: 10 }, (_, index) => big(index));
    const { service, query } = await openTable(t, entities);
    const first = await query();
    assert.equal(first.entities.length, 4);
    assert.deepEqual(first.next, { partitionKey: 'p', rowKey: 'r4' });
    const filter = compare('RowKey', 'ne', 'r3');
    assert.equal((await pages(service, { filter })).flatMap(keysOf).length, 9);
  });

  it('ends after five seconds, possibly empty, and goes on from there', costly(), async (t) => {
    const clock = manualClock();
    const slow: ServiceOptions = {
      clock,
      wrap: (store) => ({
        get: (key) => store.get(key),
        getMany: (keys) => store.getMany(keys),
        commit: (batch) => store.commit(batch),
        close: () => store.close(),
        range(range, options) {
          clock.advanceMicros(2_000_000);
          return store.range(range, options);
        },
      }),
    };
    const { service, query } = await openTable(t, grid(1, 5000), 'memory', slow);
    const filter = compare('n', 'eq', 4999);
    const first = await query({ filter });
    assert.deepEqual(first.entities, []);
    assert.notEqual(first.next, undefined);
    const read = await pages(service, { filter });
    assert.deepEqual(read.flatMap(keysOf), ['p0/r4999']);
    assert.ok(read.length > 1);
  });
});

/** Counts the turns of the event loop during some work. */
async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  let isDone = false;
  const count = (): void => {
    turns += 1;
    if (!isDone) setImmediate(count);
  };
  setImmediate(count);
  await work();
  isDone = true;
  return turns;
}

describe('a query that takes long', () => {
  const rows = 300;
  /** A clock by which every slice has ended when it is looked at. */
  const hurried = () => {
    const clock = manualClock();
    const monotonicMs = () => {
      clock.advanceMicros(6_000);
      return clock.monotonicMs();
    };
    return { clock: { ...clock, monotonicMs }, budget: { ...defaultQueryBudget, timeMsMax: 1e9 } };
  };
  const longFilter = or(
    ...Array.from({ length: 600 }, (_, value) => compare('n', 'gt', 1_000 + value)),
  );

  it('lets others have their turn after each row when its filter is long', async (t) => {
    const { query } = await openTable(t, grid(1, rows), 'lmdb', hurried());
    const turns = await turnsDuring(() => query({ filter: longFilter }));
    assert.ok(turns >= rows, `${turns} turns`);
  });

  it('takes turns with others like it', costly(), async (t) => {
    const { query } = await openTable(t, grid(1, rows), 'lmdb', hurried());
    const many = Array.from({ length: 4 }, () => () => query({ filter: longFilter }));
    const turns = await turnsDuring(() => Promise.all(many.map((one) => one())));
    assert.ok(turns >= 4 * rows, `${turns} turns`);
  });

  it('ends its page where the answer would be too large, though its rows are small', async (t) => {
    const { service, query } = await openTable(t, grid(1, 40));
    const given = { rowBytesMin: defaultQueryBudget.bytesMax / 16 };
    assert.equal((await query(given)).entities.length, 16);
    assert.equal((await pages(service, given)).flatMap(keysOf).length, 40);
  });

  it('finds every point whatever the sizes of the rows before it', async (t) => {
    const large = Array.from({ length: 12 }, (_, index): EntityInput => {
      const properties = Array.from({ length: 15 }, (__, place) =>
        property(`P${place}`, text('x'.repeat(32_000))),
      );
      const named = [...properties, property('n', int(index))];
      const rowKey = `r${String(index).padStart(2, '0')}`;
      return { partitionKey: 'p', rowKey, properties: propertyBagOf(named) };
    });
    const { query } = await openTable(t, large, 'lmdb');
    const points = or(...large.map(({ rowKey }) => compare('RowKey', 'eq', rowKey)));
    const filter = and(compare('PartitionKey', 'eq', 'p'), points, compare('n', 'ge', 10));
    assert.deepEqual(keysOf(await query({ filter })), ['p/r10', 'p/r11']);
  });
});

describe('the rows that a query reads', () => {
  it('are the points asked for, found or not', async (t) => {
    const { query } = await openTable(t, grid(2, 50));
    const rows = Array.from({ length: 300 }, (_, index) =>
      compare('RowKey', 'eq', `r${String(index).padStart(4, '0')}`),
    );
    const page = await query({ filter: and(compare('PartitionKey', 'eq', 'p1'), or(...rows)) });
    assert.deepEqual(page.report, {
      planClass: 'point',
      intervals: 300,
      rowsScanned: 300,
      rowsReturned: 50,
    });
  });

  it('are the partition for a condition on a property', async (t) => {
    const { query } = await openTable(t, grid(3, 20));
    const filter = and(compare('PartitionKey', 'eq', 'p1'), compare('n', 'lt', 5));
    assert.deepEqual((await query({ filter })).report, {
      planClass: 'partition-scan',
      intervals: 1,
      rowsScanned: 20,
      rowsReturned: 5,
    });
  });

  it('are none for a contradiction, but the table must exist', async (t) => {
    const { service, query } = await openTable(t, grid(1, 5));
    const filter = and(compare('PartitionKey', 'eq', 'a'), compare('PartitionKey', 'eq', 'b'));
    const { report } = await query({ filter });
    assert.deepEqual(report, { planClass: 'none', intervals: 0, rowsScanned: 0, rowsReturned: 0 });
    await assert.rejects(
      service.queryEntities(account, 'other', { filter }),
      failsWith('TableNotFound'),
    );
  });

  it('are never those of another table or account', async (t) => {
    const { service, query } = await openTable(t, grid(2, 2));
    await service.createTable(account, 'next');
    await service.createTable('bcct', 'data');
    await service.write(account, 'next', { kind: 'insert', entity: entity('p0', 'x') });
    await service.write('bcct', 'data', { kind: 'insert', entity: entity('p0', 'y') });
    assert.equal((await query()).entities.length, 4);
    assert.equal((await query({ filter: compare('PartitionKey', 'ge', '') })).entities.length, 4);
  });
});
