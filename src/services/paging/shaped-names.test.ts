import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { openTestStore } from '../../../test/support/stores.js';
import { systemClock } from '../../base/clock.js';
import { forwardClock } from '../../base/forward-clock.js';
import { systemRandomness } from '../../base/randomness.js';
import { QueueService } from '../queues/queue-service.js';
import { ShapedQueueService } from './shaped-queue-service.js';
import type { QueueQuery } from '../queues/types.js';
import { TableService } from '../tables/table-service.js';
import { ShapedTableService } from './shaped-table-service.js';
import type { TableQuery } from '../tables/types.js';
import { pagingTestPolicy } from './paging-policy.js';

const account = 'acct';
const last = 'z'.repeat(63);
const queueNames = ['aaa', 'aaa-0', 'aaa0', 'aab', 'b-b', 'b0b', 'zzz', last].sort();
const tableNames = ['Aaa', 'AAA0', 'aaa00', 'Bbb', 'ccc', 'Ccc0', last].sort((a, b) =>
  a.toLowerCase() < b.toLowerCase() ? -1 : 1,
);

interface Walked {
  readonly names: readonly string[];
  readonly empties: number;
  readonly sizeMax: number;
}

/** Goes through a list page by page. */
async function walk<Query extends { readonly from?: string }>(
  read: (query: Query) => Promise<{ readonly names: readonly string[]; readonly next?: string }>,
  query: Query,
): Promise<Walked> {
  const names: string[] = [];
  let [empty, empties, sizeMax] = [0, 0, 0];
  let from: string | undefined = query.from;
  for (let pages = 0; ; pages += 1) {
    assert.ok(pages < 100, 'a list without end');
    const page = await read({ ...query, ...(from === undefined ? {} : { from }) });
    names.push(...page.names);
    empty = page.names.length === 0 ? empty + 1 : 0;
    empties = Math.max(empties, empty);
    sizeMax = Math.max(sizeMax, page.names.length);
    if (page.next === undefined) return { names, empties, sizeMax };
    from = page.next;
  }
}

const seeds = fc.string();
const limits = fc.integer({ min: 1, max: 10 });

describe('lists of every shape', () => {
  it('give every table once and in order', async (t) => {
    const store = await openTestStore('memory', t, systemClock);
    const plain = new TableService({ store, clock: systemClock });
    for (const name of tableNames) await plain.createTable(account, name);
    const froms = fc.option(fc.constantFrom('', 'aaa', 'AAA00', 'b', 'zz', `${last}0`), {
      nil: undefined,
    });
    const shapes = new Set<string>();
    await fc.assert(
      fc.asyncProperty(seeds, limits, froms, async (seed, top, from) => {
        const paging = pagingTestPolicy(seed);
        const service = new ShapedTableService({ store, clock: systemClock }, paging);
        const read = async (query: TableQuery) => {
          const { tables, next } = await service.queryTables(account, query);
          shapes.add(`${tables.length === 0 ? 'empty' : 'some'} ${next === undefined}`);
          return { names: tables.map(({ name }) => name), ...(next === undefined ? {} : { next }) };
        };
        const { names, empties, sizeMax } = await walk(read, {
          top,
          ...(from === undefined ? {} : { from }),
        });
        const start = (from ?? '').toLowerCase();
        assert.deepEqual(
          names,
          tableNames.filter((name) => name.toLowerCase() >= start),
        );
        assert.ok(empties <= 1 && sizeMax <= top);
      }),
      { numRuns: 200 },
    );
    assert.deepEqual([...shapes].sort(), ['empty false', 'empty true', 'some false', 'some true']);
  });

  it('give every queue once and in order', async (t) => {
    const store = await openTestStore('memory', t, systemClock);
    const parts = { store, clock: forwardClock(systemClock), randomness: systemRandomness };
    const plain = new QueueService(parts);
    for (const name of queueNames) await plain.createQueue(account, name, []);
    const prefixes = fc.option(fc.constantFrom('a', 'aaa', 'b', 'nothing'), { nil: undefined });
    await fc.assert(
      fc.asyncProperty(seeds, limits, prefixes, async (seed, limit, prefix) => {
        const service = new ShapedQueueService(parts, pagingTestPolicy(seed));
        const read = async (query: QueueQuery) => {
          const { queues, next } = await service.listQueues(account, query);
          // A marker that is longer than a name is refused.
          assert.ok((next ?? '').length <= 63);
          const names = Array.from(queues, ({ name }) => name);
          return { names, ...(next === undefined ? {} : { next }) };
        };
        const { names, empties, sizeMax } = await walk(read, {
          limit,
          ...(prefix === undefined ? {} : { prefix }),
        });
        assert.deepEqual(
          names,
          queueNames.filter((name) => name.startsWith(prefix ?? '')),
        );
        assert.ok(empties <= 1 && sizeMax <= limit);
      }),
      { numRuns: 200 },
    );
  });
});
