import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { openTestStore } from '../../../test/support/stores.js';
import { systemTimers } from '../../base/async/timers.js';
import { systemClock } from '../../base/clock.js';
import { forwardClock } from '../../base/forward-clock.js';
import { systemRandomness } from '../../base/randomness.js';
import { openMemoryContent } from '../../content/memory/content.js';
import { BlobService } from '../blobs/blob-service.js';
import type {
  BlobQuery,
  ContainerProperties,
  ContainerQuery,
  ListedBlob,
  ListedPrefix,
  ListPosition,
} from '../blobs/types.js';
import { ShapedBlobService } from './shaped-blob-service.js';
import { QueueService } from '../queues/queue-service.js';
import { ShapedQueueService } from './shaped-queue-service.js';
import type { QueueQuery } from '../queues/types.js';
import { TableService } from '../tables/table-service.js';
import { ShapedTableService } from './shaped-table-service.js';
import type { TableQuery } from '../tables/types.js';
import { pagingTestPolicy } from './paging-policy.js';
import { costly } from '../../../test/support/run-length.js';

const account = 'acct';
const last = 'z'.repeat(63);
const queueNames = ['aaa', 'aaa-0', 'aaa0', 'aab', 'b-b', 'b0b', 'zzz', last].sort();
const blobNames = ['a', 'a/b', 'a/b/c', 'a0', 'b', 'b/1', 'b/2', 'b0', 'c/d', 'é', '\u{1f600}'];
const tableNames = ['Aaa', 'AAA0', 'aaa00', 'Bbb', 'ccc', 'Ccc0', last].sort((a, b) =>
  a.toLowerCase() < b.toLowerCase() ? -1 : 1,
);

interface Walked {
  readonly names: readonly string[];
  readonly empties: number;
  readonly sizeMax: number;
}

/** Goes through a list page by page. */
async function walk<Query extends { readonly from?: Position }, Position = string>(
  read: (query: Query) => Promise<{ readonly names: readonly string[]; readonly next?: Position }>,
  query: Query,
): Promise<Walked> {
  const names: string[] = [];
  let [empty, empties, sizeMax] = [0, 0, 0];
  let from: Position | undefined = query.from;
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
      { numRuns: 100 },
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
      { numRuns: 100 },
    );
  });

  it(
    'give every container, blob, snapshot and common beginning once and in order',
    costly(),
    async (t) => {
      const store = await openTestStore('memory', t, systemClock);
      const parts = {
        store,
        clock: forwardClock(systemClock),
        randomness: systemRandomness,
        timers: systemTimers,
        content: openMemoryContent(),
        containerRetentionDays: () => 3,
      };
      const plain = new BlobService(parts);
      const create = (container: string) =>
        plain.containers.create({ account, container }, { metadata: [], publicAccess: 'none' });
      for (const container of queueNames) await create(container);
      const deleted = ['aaa-0', 'aaa-0', 'aaa0', 'b-b', 'b-b', 'b-b', last];
      for (const container of deleted) {
        await plain.containers.delete({ account, container }, {});
        await create(container);
      }
      await plain.containers.delete({ account, container: 'zzz' }, {});
      const containerText = ({ name, deleted: mark }: ContainerProperties): string =>
        `${name} ${mark?.version ?? ''}`;
      const lists = new Map<boolean, readonly string[]>();
      for (const includesDeleted of [false, true]) {
        const page = await plain.containers.list(account, { limit: 1000, includesDeleted });
        lists.set(includesDeleted, Array.from(page.containers, containerText));
      }
      assert.equal(lists.get(true)?.length, queueNames.length + deleted.length);
      const address = { account, container: 'aaa' };
      for (const blob of blobNames) {
        const target = { ...address, blob };
        await plain.putAppendBlob(target, { headers: {}, metadata: [], tags: [] });
        if (!blob.startsWith('b')) continue;
        for (let count = 0; count < 3; count += 1) await plain.snapshotBlob(target, undefined);
      }
      const states = { uncommitted: false, deleted: false };
      const queries = [
        { ...states, snapshots: false },
        { ...states, snapshots: true },
        { ...states, snapshots: false, delimiter: '/' },
        { ...states, snapshots: true, prefix: 'b' },
      ];
      const textOf = (item: ListedBlob | ListedPrefix): string =>
        `${item.kind} ${item.name} ${item.kind === 'blob' ? item.snapshotMicros : ''}`;
      const expected = new Map<unknown, readonly string[]>();
      for (const query of queries) {
        const { items } = await plain.listBlobs(address, { ...query, limit: 1000 });
        expected.set(query, Array.from(items, textOf));
      }
      await fc.assert(
        fc.asyncProperty(seeds, limits, fc.constantFrom(...queries), async (seed, limit, query) => {
          const includesDeleted = query.snapshots;
          const service = new ShapedBlobService(parts, pagingTestPolicy(seed));
          const blobs = await walk<BlobQuery, ListPosition>(
            async (asked) => {
              const { items, ...next } = await service.listBlobs(address, asked);
              return { names: Array.from(items, textOf), ...next };
            },
            { ...query, limit },
          );
          assert.deepEqual(blobs.names, expected.get(query));
          assert.ok(blobs.empties <= 1 && blobs.sizeMax <= limit);
          const containers = await walk<ContainerQuery>(
            async (asked) => {
              const page = await service.containers.list(account, asked);
              const { next } = page;
              assert.match(next ?? 'a', /^[a-z0-9-]{1,63}(\/[0-9A-F]{16})?$/);
              const names = Array.from(page.containers, containerText);
              return { names, ...(next === undefined ? {} : { next }) };
            },
            { limit, includesDeleted },
          );
          assert.deepEqual(containers.names, lists.get(includesDeleted));
          assert.ok(containers.empties <= 1 && containers.sizeMax <= limit);
        }),
        { numRuns: 100 },
      );
    },
  );
});
