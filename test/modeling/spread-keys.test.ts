import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import {
  defineEntity,
  Instant,
  instant,
  int32,
  key,
  string,
  transaction,
  type TableGateway,
} from '../../src/modeling/index.js';
import { openSpreadEntities } from '../../src/modeling/patterns/spread-keys.js';
import { hash32 } from '../../src/placement/hashes/text-hash.js';
import { startTables } from './support/observed-tables.js';

const started = await startTables();
after(() => started[Symbol.asyncDispose]());

/** Events keyed by time, so that keys only grow. */
const Event = defineEntity({
  type: 'Event',
  properties: { bucket: int32(), source: string(), at: instant(), id: string(), text: string() },
  partitionKey: (p) => key`${p.bucket.padded(2)}_${p.source}`,
  rowKey: (p) => key`${p.at.ascending()}_${p.id}`,
});
const options = { bucket: 'bucket', buckets: 8 } as const;
const eventsOf = (table: TableGateway) => openSpreadEntities(Event, table, options);

const begin = Instant.parse('2014-07-31T18:00:00Z').ticks;
const at = (second: number) => Instant.ofTicks(begin + BigInt(second) * 10_000_000n);
const event = (second: number, source = 'shop') => ({
  source,
  at: at(second),
  id: 'e',
  text: `event ${second}`,
});

type Events = Awaited<ReturnType<typeof eventsOf>>;
const seconds = async (events: Events, query: Omit<Parameters<Events['query']>[0], 'partition'>) =>
  (await events.query({ partition: { source: 'shop' }, ...query }).toArray({ max: 1000 })).map(
    ({ at }) => Number((at.ticks - begin) / 10_000_000n),
  );
const range = (from: number, count: number) =>
  Array.from({ length: count }, (_, index) => from + index);

async function filled() {
  const table = await started.newTable();
  const events = await eventsOf(table.gateway);
  for (const second of range(0, 60)) await events.insert(event(second));
  await events.insert(event(0, 'other'));
  table.takeKinds();
  return { ...table, events };
}

describe('spread keys', () => {
  it('put keys that grow into all buckets, by the hash of the RowKey', async () => {
    const { gateway } = await filled();
    const { rows } = await gateway.page({ filter: "PartitionKey gt '0'" });
    const partitions = new Set(rows.map(({ partitionKey }) => partitionKey));
    assert.deepEqual(
      [...partitions].filter((name) => name.endsWith('_shop')),
      range(0, 8).map((bucket) => `0${bucket}_shop`),
    );
    for (const { partitionKey, rowKey } of rows) {
      assert.equal(partitionKey.slice(0, 2), `0${hash32(rowKey) % 8}`);
    }
  });

  it('find one entity by a point read, and write it by one write', async () => {
    const { events, takeKinds } = await filled();
    const entity = await events.get({ source: 'shop', at: at(7), id: 'e' });
    assert.equal(entity?.text, 'event 7');
    assert.deepEqual(takeKinds(), ['point-read']);
    await events.replace({ ...entity, text: 'changed' });
    const one = { source: 'shop', at: at(7), id: 'e' };
    await events.merge(one, { text: 'merged' }, { ifMatch: 'any' });
    await events.upsertReplace({ ...one, text: 'again' });
    await events.upsertMerge({ ...one, text: 'once more' });
    assert.deepEqual(takeKinds(), ['update', 'update', 'update', 'update']);
    assert.equal(await events.insertIfAbsent(event(7)), undefined);
    assert.equal((await events.get(one))?.text, 'once more');
    takeKinds();
    await events.update(one, (current) => ({ ...current, text: `${current.text}!` }));
    assert.equal((await events.get(one))?.text, 'once more!');
    await events.delete(one, { ifMatch: 'any' });
    assert.equal(await events.deleteIfExists(one), false);
    assert.equal(await events.get(one), undefined);
  });

  it('read a range in order, as if it were one partition, one request a bucket', async () => {
    const { events, takeKinds } = await filled();
    assert.deepEqual(await seconds(events, {}), range(0, 60));
    assert.deepEqual(
      takeKinds(),
      Array.from({ length: 8 }, () => 'query'),
    );
    const some = { rowKeyFrom: { at: at(10) }, rowKeyBefore: { at: at(25) } };
    assert.deepEqual(await seconds(events, some), range(10, 15));
    assert.deepEqual(
      await seconds(events, { where: (p) => p.text.eq('event 3').or(p.text.eq('event 50')) }),
      [3, 50],
    );
  });

  it('are read page by page with cursors, in order, nothing twice', async () => {
    const { events } = await filled();
    const found: number[] = [];
    let cursor: string | undefined;
    do {
      const query = events.query({ partition: { source: 'shop' }, concurrency: 2 });
      const page = await query.page(cursor === undefined ? { limit: 7 } : { limit: 7, cursor });
      found.push(...page.items.map(({ at }) => Number((at.ticks - begin) / 10_000_000n)));
      ({ cursor } = page);
    } while (cursor !== undefined);
    assert.deepEqual(found, range(0, 60));
  });

  it('tell whole keys, so that a transaction can be made of one bucket', async () => {
    const { events, gateway } = await filled();
    const whole = events.key({ source: 'shop', at: at(5), id: 'e' });
    await transaction(gateway)
      .merge(Event, whole, { text: 'by transaction' }, { ifMatch: 'any' })
      .run();
    assert.equal((await events.get(whole))?.text, 'by transaction');
  });

  it('are written down with the first opening, and refuse another number of buckets', async () => {
    const { gateway, takeKinds } = await started.newTable();
    await eventsOf(gateway);
    assert.deepEqual(takeKinds(), ['point-read', 'insert']);
    await eventsOf(gateway);
    assert.deepEqual(takeKinds(), ['point-read']);
    await assert.rejects(openSpreadEntities(Event, gateway, { ...options, buckets: 16 }), {
      name: 'DefinitionError',
      message: /is spread over 8 buckets by murmur3-32, not over 16 buckets/,
    });
  });

  it('follow from what is computed, or set by default, as the entity is stored', async () => {
    let ids = 0;
    const Article = defineEntity({
      type: 'Article',
      properties: {
        bucket: int32(),
        title: string(),
        slug: string().computed({ title: string() }, ({ title }) => title.toLowerCase()),
        id: string().default(() => `id${(ids += 1)}`),
        text: string().default(''),
      },
      partitionKey: (p) => key`${p.bucket.padded(2)}`,
      rowKey: (p) => key`${p.slug}_${p.id}`,
    });
    const { gateway } = await started.newTable();
    const articles = await openSpreadEntities(Article, gateway, options);
    const isFound = async (article: { slug: string; id: string }, text: string) =>
      assert.equal((await articles.get(article))?.text, text, `${article.slug}_${article.id}`);
    for (const title of ['A', 'B', 'C', 'D', 'E', 'F']) {
      const inserted = await articles.insert({ title, text: 'new' });
      await isFound(inserted, 'new');
      const copy = await articles.insert({ ...inserted, title: `${title} again`, text: 'copy' });
      await isFound({ slug: `${title} again`.toLowerCase(), id: copy.id }, 'copy');
      const whole = articles.entity({ title, text: 'whole' });
      await isFound(await articles.entities.insert(whole), 'whole');
      await articles.upsertMerge({ title, id: 'given', text: 'merged' });
      await isFound({ slug: title.toLowerCase(), id: 'given' }, 'merged');
      await assert.rejects(articles.replace({ ...copy, title: 'Other' }), /would move/);
    }
    await assert.rejects(async () => articles.upsertMerge({ title: 'A' }), /needs 'id'/);
    assert.equal(ids, 12, 'a default is asked for once');
  });

  it('follow from what is computed of a default', async () => {
    let seeds = 0;
    const Ticket = defineEntity({
      type: 'Ticket',
      properties: {
        bucket: int32(),
        seed: string().default(() => `s${(seeds += 1)}`),
        slug: string().computed({ seed: string() }, ({ seed }) => `slug-${seed}`),
      },
      partitionKey: (p) => key`${p.bucket.padded(2)}`,
      rowKey: (p) => key`${p.slug}`,
    });
    const { gateway } = await started.newTable();
    const tickets = await openSpreadEntities(Ticket, gateway, options);
    for (const _ of range(1, 8)) {
      const { seed, slug } = await tickets.insert({});
      assert.equal(slug, `slug-${seed}`);
      assert.equal((await tickets.get({ slug }))?.seed, seed);
    }
    assert.equal(seeds, 8, 'a default is asked for once');
  });

  it('are the same for all who open them first at the same time', async () => {
    const { gateway } = await started.newTable();
    const numbers = range(2, 8);
    const outcomes = await Promise.allSettled(
      numbers.map((buckets) => openSpreadEntities(Event, gateway, { ...options, buckets })),
    );
    assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1);
  });

  it('are refused for keys that cannot hold the bucket', async () => {
    const { gateway, takeKinds } = await started.newTable();
    const open = (changes: object) =>
      openSpreadEntities(Event, gateway, { ...options, ...changes });
    await assert.rejects(open({ buckets: 101 }), { name: 'ValueError' });
    await assert.rejects(open({ buckets: 1 }), /give 2 to 1000/);
    await assert.rejects(open({ bucket: 'source' }), /Event.source is no int32/);
    assert.deepEqual(takeKinds(), []);
  });
});
