import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import * as fc from 'fast-check';
import { comparison, filterOver, trickyText } from '../../../test/support/edm-arbitraries.js';
import { account, entity, int, openService, text } from '../../../test/support/table-services.js';
import { systemClock } from '../../base/clock.js';
import type { Filter } from '../../model/edm/filter.js';
import type { EntityInput } from '../../model/edm/value.js';
import type { TableService } from '../tables/table-service.js';
import { ShapedTableService } from './shaped-table-service.js';
import type { EntityPage, EntityPosition, EntityQuery } from '../tables/types.js';
import { pagingTestPolicy } from './paging-policy.js';
import { costly } from '../../../test/support/run-length.js';

const table = 'data';
const long = 'k'.repeat(512);
/** Keys of which one begins with another, down to the lowest character. */
const nested = fc.stringMatching(/^a[ !~a]{0,2}$/);
const keys = fc.oneof(
  nested,
  trickyText,
  fc.constantFrom('', ' ', 'a', 'a ', 'b', long, `${long.slice(1)}l`),
);
/** Few partitions, so that they have several rows. */
const partitions = fc.oneof({ weight: 4, arbitrary: fc.constantFrom('', 'a', 'a ', 'b') }, keys);
const filters: fc.Arbitrary<Filter> = filterOver(
  fc.oneof(
    comparison(fc.constantFrom('PartitionKey', 'RowKey'), keys.map(text)),
    comparison(fc.constant('n'), fc.integer({ min: 0, max: 3 }).map(int)),
    fc.boolean().map((value) => ({ kind: 'constant' as const, value })),
  ),
);
const rows = fc
  .uniqueArray(fc.tuple(partitions, keys, fc.integer({ min: 0, max: 3 })), {
    maxLength: 40,
    selector: ([partitionKey, rowKey]) => JSON.stringify([partitionKey, rowKey]),
  })
  .map((tuples) => tuples.map(([partitionKey, rowKey, n]) => entity(partitionKey, rowKey, { n })));

/** A plain service, and for any seed one over the same store that shapes its pages. */
async function openTable(t: TestContext, entities: readonly EntityInput[]) {
  const { service, store } = await openService.memory(t);
  await service.createTable(account, table);
  for (const given of entities) {
    await service.write(account, table, { kind: 'insert', entity: given });
  }
  const shaped = (seed: string) =>
    new ShapedTableService({ store, clock: systemClock }, pagingTestPolicy(seed));
  return { plain: service, shaped };
}

/** All pages of a query. Each position is requested as by a client that keeps nothing else. */
async function walk(
  service: TableService,
  { from: start, ...query }: EntityQuery,
): Promise<{ readonly page: EntityPage; readonly from: EntityPosition | undefined }[]> {
  const pages: { page: EntityPage; from: EntityPosition | undefined }[] = [];
  let from = start;
  for (;;) {
    const page = await service.queryEntities(account, table, {
      ...query,
      ...(from === undefined ? {} : { from }),
    });
    pages.push({ page, from });
    if (page.next === undefined) return pages;
    from = page.next;
    assert.ok(pages.length < 500, 'a query without end');
  }
}

const keysOf = ({ entities }: EntityPage): string[] =>
  entities.map(({ partitionKey, rowKey }) => JSON.stringify([partitionKey, rowKey]));

async function allKeys(service: TableService, query: EntityQuery): Promise<string[]> {
  return (await walk(service, query)).flatMap(({ page }) => keysOf(page));
}

function grid(partitions: number, rowsEach: number): EntityInput[] {
  return Array.from({ length: partitions * rowsEach }, (_, index) =>
    entity(`p${Math.floor(index / rowsEach)}`, `r${index % rowsEach}`, { n: index % 4 }),
  );
}

describe('pages of every shape', () => {
  it('give each row of any query once and in order, and soon go on', costly(), async (t) => {
    const sample = fc.record(
      {
        entities: rows,
        seed: fc.string(),
        filter: filters,
        top: fc.integer({ min: 1, max: 50 }),
        from: fc.record({ partitionKey: keys, rowKey: keys }, { requiredKeys: ['partitionKey'] }),
      },
      { requiredKeys: ['entities', 'seed'] },
    );
    await fc.assert(
      fc.asyncProperty(sample, async ({ entities, seed, ...query }) => {
        const { plain, shaped } = await openTable(t, entities);
        const pages = await walk(shaped(seed), query);
        assert.deepEqual(
          pages.flatMap(({ page }) => keysOf(page)),
          await allKeys(plain, query),
        );
        let empty = 0;
        for (const { page } of pages) {
          assert.ok(page.entities.length <= (query.top ?? 1000));
          assert.equal(page.report.rowsReturned, page.entities.length);
          empty = page.entities.length === 0 ? empty + 1 : 0;
          assert.ok(page.next === undefined || empty <= 2, 'too many pages without a row');
        }
      }),
      { numRuns: 133 },
    );
  });

  it('are all there are', async (t) => {
    const { shaped } = await openTable(t, grid(4, 5));
    const seen = new Map<string, number>();
    const see = (shape: string, isSeen: boolean): void => {
      if (isSeen) seen.set(shape, (seen.get(shape) ?? 0) + 1);
    };
    for (let seed = 0; seed < 60; seed += 1) {
      for (const { page, from } of await walk(shaped(String(seed)), { top: 8 })) {
        const { entities, next } = page;
        const last = entities.at(-1);
        const isEmpty = entities.length === 0;
        const isStored = next?.rowKey !== undefined && /^r\d$/.test(next.rowKey);
        const isBoundary = next !== undefined && next.rowKey === undefined;
        see('empty first page, with a token', isEmpty && from === undefined && next !== undefined);
        see('empty page between, with a token', isEmpty && from !== undefined && isStored);
        see('empty last page', isEmpty && next === undefined);
        see('one row', entities.length === 1);
        see('short page', entities.length > 1 && entities.length < 8 && isStored);
        see('full page', entities.length === 8 && isStored);
        see(
          'whole partitions, token without a row',
          !isEmpty && isBoundary && last?.rowKey === 'r4',
        );
        see('empty page, token without a row', isEmpty && isBoundary);
        see('token between rows', next !== undefined && !isBoundary && !isStored);
        see('last page with rows', !isEmpty && next === undefined);
      }
    }
    assert.equal(seen.size, 10, JSON.stringify([...seen]));
  });

  it('are the same for the same seed and request, and others for another seed', async (t) => {
    const { shaped } = await openTable(t, grid(5, 8));
    const lengths = async (seed: string): Promise<string> =>
      JSON.stringify((await walk(shaped(seed), {})).map(({ page }) => [page.next, keysOf(page)]));
    const seeds = ['0', '1', '2', '3', '4', '5', '6', '7'];
    const walks = await Promise.all(seeds.map(lengths));
    assert.deepEqual(await Promise.all(seeds.map(lengths)), walks);
    assert.ok(new Set(walks).size > 4);
  });

  it('skip rows that are deleted, and show rows that come, while a client pages', async (t) => {
    const { plain, shaped } = await openTable(t, grid(6, 6));
    for (let seed = 0; seed < 30; seed += 1) {
      const service = shaped(String(seed));
      let from: EntityPosition | undefined;
      const found: string[] = [];
      for (let pages = 0; ; pages += 1) {
        assert.ok(pages < 200, 'a query without end');
        const page: EntityPage = await service.queryEntities(account, table, {
          top: 4,
          ...(from === undefined ? {} : { from }),
        });
        found.push(...keysOf(page));
        from = page.next;
        if (from === undefined) break;
        // The entity that the token names may be deleted before the token is used.
        const { partitionKey, rowKey = 'r0' } = from;
        const operation = { kind: 'delete', partitionKey, rowKey } as const;
        await plain
          .write(account, table, { ...operation, condition: { kind: 'any' } })
          .then(() => plain.write(account, table, { kind: 'insert', entity: entity('zz', rowKey) }))
          .catch(() => undefined);
      }
      assert.deepEqual([...new Set(found)].sort(), found.sort());
    }
  });

  it('hold all their entities, whether a sink would take them or not', async (t) => {
    const { shaped } = await openTable(t, grid(2, 6));
    const sink = { accepts: () => true, take: () => assert.fail('an entity may be cut off later') };
    for (let seed = 0; seed < 12; seed += 1) {
      const page = await shaped(String(seed)).queryEntities(account, table, { top: 9, sink });
      const same = await shaped(String(seed)).queryEntities(account, table, { top: 9 });
      assert.deepEqual(keysOf(page), keysOf(same));
      assert.equal(page.report.rowsReturned, page.entities.length);
      const counted = page.partitions.reduce((sum, { count }) => sum + count, 0);
      assert.equal(counted, page.entities.length);
    }
  });

  it('leave a query for no rows as it is', async (t) => {
    const { shaped } = await openTable(t, grid(2, 2));
    for (let seed = 0; seed < 20; seed += 1) {
      const page = await shaped(String(seed)).queryEntities(account, table, { top: 0 });
      assert.deepEqual([page.entities, page.next], [[], undefined]);
    }
  });
});
