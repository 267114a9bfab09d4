import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import {
  ContentionError,
  defineEntity,
  double,
  Instant,
  instant,
  int32,
  int64,
  key,
  string,
  type TableGateway,
} from '../../src/modeling/index.js';
import { timeSeriesOf } from '../../src/modeling/patterns/time-series.js';
import { dataSeriesOf } from '../../src/modeling/patterns/data-series.js';
import { costly } from '../support/run-length.js';
import { crashEverywhere } from './support/crash-points.js';
import { startTables } from './support/observed-tables.js';

const started = await startTables();
after(() => started[Symbol.asyncDispose]());

const MessageCounts = defineEntity({
  type: 'MessageCounts',
  properties: { employee: string(), day: string(), note: string().optional() },
  partitionKey: (p) => key`${p.employee}`,
  rowKey: (p) => key`${p.day}`,
});
const hours = { slots: 24, value: int32() };
const today = { employee: '000123', day: '20140731' };

/** undefined when other writers won all attempts. */
async function unlessOutrun<T>(attempt: () => Promise<T>): Promise<T | undefined> {
  try {
    return await attempt();
  } catch (error) {
    if (error instanceof ContentionError) return undefined;
    throw error;
  }
}

describe('a data series', () => {
  it('keeps a day of hours in one entity, a property an hour', async () => {
    const { gateway, takeKinds } = await started.newTable();
    const counts = dataSeriesOf(MessageCounts, gateway, hours);
    await counts.set(today, 0, 4);
    await counts.set(today, 23, 7);
    assert.deepEqual(takeKinds(), ['update', 'update']);
    const row = await gateway.get({ partitionKey: '000123', rowKey: '20140731' });
    const { WriteStamp: _, ...stored } = row?.properties ?? {};
    assert.deepEqual(stored, {
      EntityType: { type: 'String', value: 'MessageCounts' },
      _00: { type: 'Int32', value: 4 },
      _23: { type: 'Int32', value: 7 },
    });
  });

  it('is read whole by one point read, empty slots as undefined', async () => {
    const { gateway, takeKinds } = await started.newTable();
    const counts = dataSeriesOf(MessageCounts, gateway, hours);
    await counts.setAll(
      today,
      new Map([
        [9, 5],
        [17, 0],
      ]),
    );
    takeKinds();
    const { values } = await counts.read(today);
    assert.deepEqual(takeKinds(), ['point-read']);
    assert.equal(values.length, 24);
    assert.deepEqual([values[9], values[17], values[18]], [5, 0, undefined]);
    const { values: none } = await counts.read({ ...today, day: '20140801' });
    assert.deepEqual(new Set(none), new Set([undefined]));
  });

  it('adds to a slot by a read and an update, and makes the entity when there is none', async () => {
    const { gateway, takeKinds } = await started.newTable();
    const counts = dataSeriesOf(MessageCounts, gateway, hours);
    await counts.add(today, 12, 2);
    assert.deepEqual(takeKinds(), ['point-read', 'insert']);
    const { values } = await counts.add(today, 12, 3);
    assert.deepEqual(takeKinds(), ['point-read', 'update']);
    assert.equal(values[12], 5);
  });

  it('counts what 16 writers add at the same time, each once', costly(), async () => {
    const { gateway } = await started.newTable();
    const writers = 16;
    const rounds = 5;
    await Promise.all(
      Array.from({ length: writers }, async (_, writer) => {
        const counts = dataSeriesOf(MessageCounts, gateway, hours);
        for (let round = 0; round < rounds; round++) {
          // On a busy machine other writers may win every attempt; then nothing was added.
          while ((await unlessOutrun(() => counts.add(today, writer % 2, 1))) === undefined);
          await counts.set(today, 2 + (writer % 8), round);
        }
      }),
    );
    const { values } = await dataSeriesOf(MessageCounts, gateway, hours).read(today);
    const each = (writers / 2) * rounds;
    assert.deepEqual(values.slice(0, 12), [
      each,
      each,
      4,
      4,
      4,
      4,
      4,
      4,
      4,
      4,
      undefined,
      undefined,
    ]);
  });

  it('holds every kind of number, and refuses sums that do not fit', async () => {
    const { gateway } = await started.newTable();
    const big = dataSeriesOf(MessageCounts, gateway, { slots: 2, value: int64() });
    await big.add(today, 1, 2n ** 62n);
    const { values } = await big.add(today, 1, 1n);
    assert.deepEqual(values, [undefined, 2n ** 62n + 1n]);
    const small = dataSeriesOf(MessageCounts, gateway, { ...hours, slots: 10 });
    const other = { ...today, day: 'small' };
    await small.set(other, 0, 2 ** 31 - 1);
    await assert.rejects(small.add(other, 0, 1), { name: 'ValueError' });
    const rate = dataSeriesOf(MessageCounts, gateway, { slots: 1, value: double() });
    const rates = { ...today, day: 'rates' };
    await rate.add(rates, 0, 0.5);
    assert.deepEqual((await rate.add(rates, 0, 1)).values, [1.5]);
  });

  it('names slots as it is told, and refuses names that are equal', async () => {
    const { gateway } = await started.newTable();
    const slotName = (slot: number) => `h ${slot}`;
    const named = dataSeriesOf(MessageCounts, gateway, { ...hours, slotName });
    await named.set(today, 3, 1);
    const row = await gateway.get({ partitionKey: '000123', rowKey: '20140731' });
    assert.equal(row?.properties['h_x0020_3']?.value, 1);
    const same = { ...hours, slotName: () => 'h' };
    assert.throws(() => dataSeriesOf(MessageCounts, gateway, same), { name: 'DefinitionError' });
  });

  it('refuses what one entity cannot hold and sends it to wide entities', async () => {
    const { gateway, takeKinds } = await started.newTable();
    const make = (slots: number) => () =>
      dataSeriesOf(MessageCounts, gateway, { slots, value: int32() });
    assert.throws(make(249), /1 to 248, a wide entity for more/);
    assert.throws(make(0), { name: 'DefinitionError' });
    const full = make(248)();
    await full.setAll(today, new Map(Array.from({ length: 248 }, (_, slot) => [slot, slot])));
    assert.equal((await full.read(today)).values[247], 247);
    const Demanding = defineEntity({
      type: 'Demanding',
      properties: { id: string(), name: string() },
      partitionKey: (p) => key`${p.id}`,
      rowKey: () => key`counts`,
    });
    assert.throws(() => dataSeriesOf(Demanding, gateway, hours), /Demanding.name is required/);
    takeKinds();
    const counts = dataSeriesOf(MessageCounts, gateway, hours);
    await assert.rejects(counts.set(today, 24, 1), /slots from 0 to 23, and no 24/);
    await assert.rejects(counts.set(today, 0, 1.5), { name: 'ValueError' });
    assert.deepEqual(takeKinds(), []);
  });

  it('counts once whatever request of an addition a crash or a lost answer hits', async () => {
    interface World {
      readonly table: TableGateway;
      done: number;
    }
    await crashEverywhere<World>({
      prepare: async () => ({ table: (await started.newTable()).gateway, done: 0 }),
      run: async (world, doomed) => {
        const counts = dataSeriesOf(MessageCounts, doomed.wrap(world.table), hours);
        for (let count = 0; count < 2; count++) {
          await counts.add(today, 0, 1);
          world.done += 1;
        }
      },
      recover: () => Promise.resolve(),
      check: async ({ table, done }) => {
        const { values } = await dataSeriesOf(MessageCounts, table, hours).read(today);
        const stored = values[0] ?? 0;
        // Acknowledged additions are stored; the one in progress may be stored as well.
        assert.ok(stored === done || stored === done + 1, `${stored} stored, ${done} told`);
      },
    });
  });

  it('counts a repeated addition once, also when others have set a slot in between', async () => {
    const { gateway } = await started.newTable();
    const others = dataSeriesOf(MessageCounts, gateway, hours);
    let slot = 1;
    const repeating: TableGateway = {
      table: gateway.table,
      get: (key, select) => gateway.get(key, select),
      transact: (writes) => gateway.transact(writes),
      page: (query) => gateway.page(query),
      write: async (write) => {
        await gateway.write(write);
        await others.set(today, slot++, 7);
        return gateway.write(write);
      },
    };
    const counts = dataSeriesOf(MessageCounts, repeating, hours);
    for (const expected of [5, 10]) {
      const { values } = await counts.add(today, 0, 5);
      assert.deepEqual(values.slice(0, 3), [expected, 7, expected === 5 ? undefined : 7]);
    }
  });
});

describe('a time series', () => {
  const byHour = { time: 'day', period: 'day', slots: 24, value: int32() } as const;
  const jo = { employee: '000123' };
  const at = (text: string) => Instant.parse(text);
  const clockAt = (text: string) => ({
    nowMicros: () => at(text).toDate().getTime() * 1000,
    monotonicMs: () => 0,
  });
  const shown = (slots: readonly { readonly at: Instant; readonly value: unknown }[]) =>
    slots
      .filter(({ value }) => value !== undefined)
      .map((slot) => `${slot.at.toString().slice(0, 13)} ${String(slot.value)}`);

  it('gives the last 24 hours by one range read of the days that they touch', async () => {
    const { gateway, takeKinds } = await started.newTable();
    const clock = clockAt('2014-08-01T09:30:00Z');
    const counts = timeSeriesOf(MessageCounts, gateway, { ...byHour, clock });
    await counts.set(jo, at('2014-07-31T09:59:59Z'), 1);
    await counts.set(jo, at('2014-07-31T10:00:00Z'), 2);
    await counts.add(jo, at('2014-08-01T09:00:00Z'), 3);
    await counts.add(jo, at('2014-08-01T09:20:00Z'), 4);
    await counts.set(jo, at('2014-08-01T10:00:00Z'), 5);
    await counts.set({ employee: '000124' }, at('2014-08-01T08:00:00Z'), 6);
    takeKinds();
    const day = await counts.last(jo, 24);
    assert.deepEqual(takeKinds(), ['query']);
    assert.equal(day.length, 24);
    assert.equal(day[0]?.at.toString(), '2014-07-31T10:00:00Z');
    assert.deepEqual(shown(day), ['2014-07-31T10 2', '2014-08-01T09 7']);
    const row = await gateway.get({ partitionKey: '000123', rowKey: '20140801' });
    assert.equal(row?.properties['_09']?.value, 7);
  });

  it('gives every slot that a range overlaps, and refuses ranges that are none', async () => {
    const { gateway } = await started.newTable();
    const counts = timeSeriesOf(MessageCounts, gateway, byHour);
    for (const hour of [22, 23]) {
      await counts.set(jo, at(`2014-07-31T${hour}:00Z`), hour);
      await counts.set(jo, at(`2014-08-01T${hour}:00Z`), 100 + hour);
    }
    const range = { from: at('2014-07-31T23:59:00Z'), to: at('2014-08-01T22:00:00.0000001Z') };
    const found = await counts.between(jo, range);
    assert.equal(found.length, 24);
    assert.deepEqual(shown(found), ['2014-07-31T23 23', '2014-08-01T22 122']);
    const { from } = range;
    await assert.rejects(counts.between(jo, { from, to: from }), { name: 'ValueError' });
    const eternal = { from: at('1700-01-01'), to: at('2700-01-01') };
    await assert.rejects(counts.between(jo, eternal), /1 to 100000/);
    await assert.rejects(counts.last(jo, 0), { name: 'ValueError' });
  });

  it('takes dates as the time, oldest or newest first', async () => {
    for (const order of ['ascending', 'descending'] as const) {
      const Load = defineEntity({
        type: 'Load',
        properties: { host: string(), from: instant() },
        partitionKey: (p) => key`${p.host}`,
        rowKey: (p) => key`load_${p.from[order]()}`,
      });
      const { gateway } = await started.newTable();
      const options = { time: 'from', period: { hours: 6 }, slots: 180, value: double() } as const;
      const loads = timeSeriesOf(Load, gateway, options);
      const host = { host: 'a' };
      await loads.set(host, at('2014-07-31T05:59:00Z'), 0.5);
      await loads.set(host, at('2014-07-31T06:00:00Z'), 1.5);
      await loads.set(host, at('2014-07-31T18:00:00Z'), 2.5);
      const range = { from: at('2014-07-31T05:00:00Z'), to: at('2014-07-31T12:00:00Z') };
      const found = await loads.between(host, range);
      assert.deepEqual(shown(found), ['2014-07-31T05 0.5', '2014-07-31T06 1.5'], order);
    }
  });

  it('refuses layouts in which a range of time would be no range of rows', () => {
    const nothing = started.gatewayOfNothing;
    const Twice = defineEntity({
      type: 'Twice',
      properties: { day: string(), employee: string() },
      partitionKey: (p) => key`${p.day}`,
      rowKey: (p) => key`${p.day}_${p.employee}`,
    });
    assert.throws(() => timeSeriesOf(Twice, nothing, byHour), /as its last part/);
    const uneven = { ...byHour, slots: 7 };
    assert.throws(() => timeSeriesOf(MessageCounts, nothing, uneven), /divide the period evenly/);
    const odd = { ...byHour, period: 'month' as never };
    assert.throws(() => timeSeriesOf(MessageCounts, nothing, odd), /months differ/);
  });
});
