import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { manualClock } from '../../src/base/clock.js';
import { dateTime, defineEntity, entitiesOf, int32, key } from '../../src/modeling/index.js';
import {
  archiveDue,
  type ArchiveSchedule,
} from '../../src/modeling/patterns/high-volume-delete/index.js';
import { crashEverywhere } from './support/crash-points.js';
import { MemoryRows, MemoryTable } from './support/memory-table.js';
import { wrappedMethods } from './support/wrapped-methods.js';

const Sale = defineEntity({
  type: 'Sale',
  properties: { id: int32(), at: dateTime(), amount: int32() },
  partitionKey: (p) => key`${p.id.padded(4)}`,
  rowKey: () => key`sale`,
});
const Old = defineEntity({
  type: 'OldSale',
  properties: { at: dateTime(), id: int32(), amount: int32() },
  partitionKey: (p) => key`${p.at.ascending()}`,
  rowKey: (p) => key`${p.id.padded(4)}`,
});

const moments = ['2024-01-31T23:59:59.999Z', '2024-02-01T00:00:00Z', '2024-03-15T12:00:00Z'];
const atMicros = (iso: string): number => Date.parse(iso) * 1000;

async function world() {
  const rows = { sales: new MemoryRows(), old: new MemoryRows() };
  const clock = manualClock(atMicros('2024-04-30T12:00:00Z'));
  const schedule = (
    wrap: <T extends object>(port: T) => T = (port) => port,
  ): ArchiveSchedule<typeof Sale, typeof Old> => {
    const sales = wrap(new MemoryTable(rows.sales));
    return {
      name: 'sales',
      control: sales,
      from: entitiesOf(Sale, sales),
      to: entitiesOf(Old, wrap(new MemoryTable(rows.old))),
      convert: ({ id, at, amount }) => ({ id, at, amount }),
      queryBefore: (moment) => ({ where: (p) => p.at.lt(moment) }),
      period: 'month',
      keep: { months: 3 },
      clock,
    };
  };
  const sales = entitiesOf(Sale, new MemoryTable(rows.sales));
  for (const [index, at] of moments.entries()) {
    await sales.insert({ id: index + 1, at: new Date(at), amount: 1 });
  }
  const old = entitiesOf(Old, new MemoryTable(rows.old));
  const archived = async (): Promise<readonly number[]> =>
    (await old.scanTable().toArray({ max: 9 })).map(({ id }) => id);
  return { rows, clock, schedule, sales, old, archived };
}

describe('a schedule of an archive', () => {
  it('takes whole periods, each when it is due, and says when that is', async () => {
    const { clock, schedule, archived } = await world();
    const none = await archiveDue(schedule());
    // Three months before the end of April is the end of January, which has not ended then.
    assert.deepEqual([none.archived, none.through.toISOString()], [0, '2024-01-01T00:00:00.000Z']);
    assert.equal(none.next.toISOString(), '2024-05-01T00:00:00.000Z');
    clock.advanceMicros(atMicros('2024-04-30T23:59:59.999Z') - clock.nowMicros());
    assert.equal((await archiveDue(schedule())).archived, 0);
    clock.advanceMicros(1000);
    const first = await archiveDue(schedule());
    assert.deepEqual([first.archived, await archived()], [1, [1]]);
    assert.equal(first.next.toISOString(), '2024-06-01T00:00:00.000Z');
    clock.advanceMicros(atMicros('2024-08-01T00:00:00Z') - clock.nowMicros());
    assert.equal((await archiveDue(schedule())).archived, 2);
    assert.deepEqual(await archived(), [1, 2, 3]);
  });

  it('asks once whether something is due, and not for the entities', async () => {
    const { schedule, rows } = await world();
    await archiveDue(schedule());
    const asked: string[] = [];
    const counting = <T extends object>(port: T): T =>
      wrappedMethods(port, (name, send) => {
        asked.push(name);
        return send();
      });
    await archiveDue(schedule(counting));
    assert.deepEqual(asked, ['get']);
    assert.equal(rows.old.all.length, 0);
  });

  it('is ended by the next call when it is killed at any request', async () => {
    await crashEverywhere<Awaited<ReturnType<typeof world>>>({
      prepare: async () => {
        const made = await world();
        made.clock.advanceMicros(63 * 86_400e6);
        return made;
      },
      run: ({ schedule }, doomed) => archiveDue(schedule((port) => doomed.wrap(port))),
      recover: ({ schedule }) => archiveDue(schedule()),
      check: async ({ archived, sales }) => {
        assert.deepEqual(await archived(), [1, 2, 3]);
        assert.equal((await sales.scanTable().toArray({ max: 9 })).length, 0);
      },
    });
  });

  it('calls nothing done while entities change under it', async () => {
    const { clock, schedule, sales, old, archived } = await world();
    clock.advanceMicros(63 * 86_400e6);
    const { convert, ...rest } = schedule();
    let change: Promise<unknown> | undefined;
    const slower = wrappedMethods(rest.to.table, (name, send) => {
      if (name !== 'write') return send();
      change ??= sales.merge({ id: 1 }, { amount: 5 }, { ifMatch: 'any' });
      return change.then(send);
    });
    const slow = await archiveDue({
      ...rest,
      concurrency: 1,
      to: rest.to.through(slower),
      convert,
    });
    assert.deepEqual([slow.archived, slow.changed], [2, 1]);
    assert.equal(slow.next.getTime(), clock.nowMicros() / 1000);
    assert.equal((await archiveDue(schedule())).archived, 1);
    assert.deepEqual(await archived(), [1, 2, 3]);
    const [first] = await old.scanTable().toArray({ max: 9 });
    assert.equal(first?.amount, 5);
  });

  it('is refused without a name, and for a period or a time that is none', async () => {
    const { schedule } = await world();
    for (const [change, fault] of [
      [{ name: '' }, /needs a name/],
      [{ period: { hours: 7 } }, /24 must be a multiple/],
      [{ keep: { months: 0 } }, /a positive whole number/],
    ] as const) {
      await assert.rejects(archiveDue({ ...schedule(), ...change }), fault);
    }
  });
});
