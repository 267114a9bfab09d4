import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import * as fc from 'fast-check';
import { manualClock } from '../../src/base/clock.js';
import {
  codecOf,
  dateTime,
  defineEntity,
  double,
  Instant,
  instant,
  key,
  string,
  type TableGateway,
} from '../../src/modeling/index.js';
import { logTailOf } from '../../src/modeling/patterns/log-tail.js';
import { startTables } from './support/observed-tables.js';
import { costly } from '../support/run-length.js';

const started = await startTables();
after(() => started[Symbol.asyncDispose]());

const ExpenseClaim = defineEntity({
  type: 'ExpenseClaim',
  properties: { employee: string(), submittedAt: instant(), id: string(), amount: double() },
  partitionKey: (p) => key`${p.employee}`,
  rowKey: (p) => key`${p.submittedAt.descending()}_${p.id}`,
});
/** The layout of the guide, with the ticks alone in the RowKey. */
const PlainClaim = defineEntity({
  type: 'PlainClaim',
  properties: { employee: string(), submittedAt: instant(), amount: double() },
  partitionKey: (p) => key`${p.employee}`,
  rowKey: (p) => key`${p.submittedAt.descending()}`,
});
const Reading = defineEntity({
  type: 'Reading',
  properties: { sensor: string(), at: dateTime(), value: double() },
  partitionKey: (p) => key`${p.sensor}`,
  rowKey: (p) => key`r_${p.at.ascending()}`,
});

const employee = '000123';
const clockAt = (iso: string) => manualClock(Date.parse(iso) * 1000);
const claimsOf = (table: TableGateway, clock = clockAt('2014-07-31T18:00:00Z')) =>
  logTailOf(ExpenseClaim, table, { time: 'submittedAt', id: 'id', clock });

/** `DateTime.MaxValue.Ticks`, from the guide's own formula. */
const maxTicks = 3_155_378_975_999_999_999n;

describe('the keys of a log tail', () => {
  const codec = codecOf(PlainClaim);

  it('are the inverted ticks as 19 digits, exact to 100 ns both ways', () => {
    const first = Instant.parse('2014-07-31T18:25:43.1234567Z');
    const { rowKey } = codec.key({ employee, submittedAt: first });
    assert.equal(rowKey, '2519954696568765432');
    assert.equal(BigInt(rowKey), maxTicks - first.ticks);
    fc.assert(
      fc.property(fc.bigInt(0n, maxTicks), (ticks) => {
        const submittedAt = Instant.ofTicks(ticks);
        const made = codec.key({ employee, submittedAt });
        assert.match(made.rowKey, /^\d{19}$/);
        assert.equal(codec.parseKey(made).submittedAt.ticks, ticks);
      }),
    );
  });

  it('sort the newest first', () => {
    const ticks = fc.bigInt(0n, maxTicks);
    fc.assert(
      fc.property(ticks, ticks, (left, right) => {
        const text = (value: bigint) =>
          codec.key({ employee, submittedAt: Instant.ofTicks(value) }).rowKey;
        assert.equal(text(left) < text(right), left > right);
      }),
    );
  });
});

describe('a log tail', () => {
  it('gives the latest ten in one read, the newest first', async () => {
    const { gateway, takeKinds } = await started.newTable();
    const clock = clockAt('2014-07-31T18:00:00Z');
    const claims = claimsOf(gateway, clock);
    for (let amount = 1; amount <= 25; amount++) {
      await claims.append({ employee, amount });
      clock.advanceMicros(1_000_000);
    }
    await claims.append({ employee: 'other', amount: 0 });
    assert.deepEqual(new Set(takeKinds()), new Set(['insert']));
    const latest = await claims.latest({ employee }, 10);
    assert.deepEqual(takeKinds(), ['query']);
    assert.deepEqual(
      latest.map(({ amount }) => amount),
      [25, 24, 23, 22, 21, 20, 19, 18, 17, 16],
    );
  });

  it('keeps the order of one writer though its clock stands still or steps back', async () => {
    const { gateway } = await started.newTable();
    const clock = clockAt('2014-07-31T18:00:00Z');
    const claims = claimsOf(gateway, clock);
    for (let amount = 1; amount <= 6; amount++) {
      await claims.append({ employee, amount });
      if (amount === 3) clock.advanceMicros(-3_600_000_000);
    }
    const latest = await claims.latest({ employee }, 100);
    assert.deepEqual(
      latest.map(({ amount }) => amount),
      [6, 5, 4, 3, 2, 1],
    );
  });

  it(
    'keeps every entry of 16 writers with the same time, with an id and without',
    costly(),
    async () => {
      const { gateway } = await started.newTable();
      const clock = clockAt('2014-07-31T18:00:00Z');
      const options = { time: 'submittedAt', clock } as const;
      await Promise.all(
        Array.from({ length: 16 }, async (_, amount) => {
          await claimsOf(gateway, clock).append({ employee, amount });
          await logTailOf(PlainClaim, gateway, options).append({ employee: 'plain', amount });
        }),
      );
      const withId = await claimsOf(gateway).latest({ employee }, 100);
      assert.equal(new Set(withId.map(({ amount }) => amount)).size, 16);
      assert.equal(new Set(withId.map(({ submittedAt }) => submittedAt.ticks)).size, 1);
      const plain = logTailOf(PlainClaim, gateway, options);
      const without = await plain.latest({ employee: 'plain' }, 100);
      assert.equal(new Set(without.map(({ amount }) => amount)).size, 16);
      assert.equal(new Set(without.map(({ submittedAt }) => submittedAt.ticks)).size, 16);
    },
  );

  it('tells that an entry with a given time and id was appended before', async () => {
    const { gateway } = await started.newTable();
    const claims = claimsOf(gateway);
    const entry = { employee, amount: 1, submittedAt: Instant.parse('2014-01-01'), id: 'a' };
    await claims.append(entry);
    await assert.rejects(claims.append(entry), { name: 'EntityExistsError' });
    assert.equal((await claims.latest({ employee }, 10)).length, 1);
  });

  it('gives the entries of some time, the end excluded', async () => {
    const { gateway } = await started.newTable();
    const claims = claimsOf(gateway);
    const at = (tick: number) => Instant.ofTicks(Instant.parse('2014-07-31').ticks + BigInt(tick));
    for (let tick = 0; tick < 10; tick++) {
      await claims.append({ employee, amount: tick, submittedAt: at(tick), id: `${tick}` });
    }
    const amounts = async (range: { from?: Instant; to?: Instant }) => {
      const query = claims.between({ employee }, range);
      assert.equal(query.plan.class, (range.from ?? range.to) ? 'range' : 'partition-scan');
      return (await query.toArray({ max: 100 })).map(({ amount }) => amount);
    };
    assert.deepEqual(await amounts({ from: at(3), to: at(6) }), [5, 4, 3]);
    assert.deepEqual(await amounts({ from: at(8) }), [9, 8]);
    assert.deepEqual(await amounts({ to: at(2) }), [1, 0]);
    assert.deepEqual(await amounts({ from: at(4), to: at(4) }), []);
    assert.equal((await amounts({})).length, 10);
  });

  it('is refused for keys that do not begin with the time', async () => {
    const { gateway } = await started.newTable();
    const Wrong = defineEntity({
      type: 'Wrong',
      properties: { id: string(), at: instant(), other: string() },
      partitionKey: (p) => key`${p.id}`,
      rowKey: (p) => key`${p.id}_${p.at.descending()}`,
    });
    assert.throws(() => logTailOf(Wrong, gateway, { time: 'at' }), /begins with 'at'/);
    const options = { time: 'submittedAt', id: 'employee' } as const;
    assert.throws(
      () => logTailOf(PlainClaim, gateway, options),
      /'employee' has to be in the RowKey/,
    );
    // @ts-expect-error -- an amount is no time
    assert.throws(() => logTailOf(PlainClaim, gateway, { time: 'amount' }), /begins with 'amount'/);
  });
});

describe('a log with the oldest first', () => {
  it('gives the earliest and the entries of some time, and no latest', async () => {
    const { gateway } = await started.newTable();
    const clock = clockAt('2014-07-31T18:00:00.500Z');
    const readings = logTailOf(Reading, gateway, { time: 'at', clock });
    const sensor = 's';
    for (let value = 0; value < 5; value++) await readings.append({ sensor, value });
    const earliest = await readings.earliest({ sensor }, 2);
    assert.deepEqual(
      earliest.map(({ value, at }) => [value, at.toISOString()]),
      [
        [0, '2014-07-31T18:00:00.500Z'],
        [1, '2014-07-31T18:00:00.501Z'],
      ],
    );
    const range = {
      from: new Date('2014-07-31T18:00:00.501Z'),
      to: new Date('2014-07-31T18:00:00.504Z'),
    };
    const found = await readings.between({ sensor }, range).toArray({ max: 10 });
    assert.deepEqual(
      found.map(({ value }) => value),
      [1, 2, 3],
    );
    await assert.rejects(readings.latest({ sensor }, 1), /needs descending/);
    await assert.rejects(claimsOf(gateway).earliest({ employee }, 1), /needs ascending/);
  });
});
