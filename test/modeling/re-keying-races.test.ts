import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { EntityExistsError, EntityNotFoundError } from '../../src/modeling/index.js';
import type { MoveDrift } from '../../src/modeling/patterns/re-keying/index.js';
import { systemTimers } from '../../src/base/async/timers.js';
import { byLength, isLong, costly } from '../support/run-length.js';
import { crashEverywhere, type Doomed } from './support/crash-points.js';
import {
  amountsOf,
  moveOf,
  order,
  queried,
  stepsTo,
  type MovingOrders,
  type OrderMove,
  type OrderTables,
} from './support/moving-orders.js';
import { startTables } from './support/observed-tables.js';
import { wrappedMethods } from './support/wrapped-methods.js';

const started = await startTables();
after(() => started[Symbol.asyncDispose]());

const hurried = { timers: started.hurriedTimers };
/** For tests in which the phase does not change. */
const steady = { refreshMs: Infinity };
const count = 2;
/** Dying before a request has the same effect as dying after the one before it. */
const rounds = isLong ? ({ moments: ['after', 'unanswered'] } as const) : {};

function filled(orders = count): Promise<OrderTables> {
  return filledWith(Array.from({ length: orders }, (_, id) => id));
}

async function filledWith(ids: readonly number[]): Promise<OrderTables> {
  const tables = {
    old: (await started.newTable()).gateway,
    new: (await started.newTable()).gateway,
  };
  const { entities } = moveOf(tables, steady);
  for (const id of ids) await entities.insert(order(id, id * 10));
  return tables;
}

function wrapped(tables: OrderTables, doomed: Doomed): OrderMove {
  const doomedTables = { old: doomed.wrap(tables.old), new: doomed.wrap(tables.new) };
  return moveOf(doomedTables, hurried);
}

const sorted = (amounts: ReadonlyMap<number, number>) =>
  [...amounts].sort(([left], [right]) => left - right);

/** Checks that both sides have these orders, and that queries and point reads return them. */
async function checkBoth(tables: OrderTables, expected: readonly (readonly [number, number])[]) {
  const { old, new: next } = await amountsOf(tables);
  assert.deepEqual(sorted(next), expected, 'the new side');
  assert.deepEqual(sorted(old), expected, 'the old side');
  const move = moveOf(tables, steady);
  assert.deepEqual(sorted(await queried(tables, move)), expected, 'the query');
  for (const [id, amount] of expected) {
    assert.equal((await move.entities.get(order(id)))?.amount, amount);
  }
}

async function verifiedClean(move: OrderMove): Promise<void> {
  await move.verify();
  const drifts: MoveDrift[] = [];
  await move.verify({ onDrift: (drift) => drifts.push(drift) });
  assert.deepEqual(drifts, []);
}

describe('a move that is killed', () => {
  const all = Array.from({ length: count }, (_, id) => [id, id * 10] as const);

  it('between any two requests of its steps is ended by the same steps', costly(), async () => {
    await crashEverywhere<OrderTables>({
      prepare: () => filled(),
      run: (tables, doomed) => stepsTo(wrapped(tables, doomed), 'reading-new'),
      recover: (tables) => stepsTo(moveOf(tables, hurried), 'reading-new'),
      check: (tables) => checkBoth(tables, all),
      moments: ['after'],
    });
  });

  it('while it is rolled back is rolled back by the same step', costly(), async () => {
    await crashEverywhere<OrderTables>({
      prepare: async () => {
        const tables = await filled();
        await stepsTo(moveOf(tables), 'reading-new');
        return tables;
      },
      run: (tables, doomed) => wrapped(tables, doomed).rollBack({ pageRows: 2 }),
      recover: (tables) => moveOf(tables, hurried).rollBack({ pageRows: 2 }),
      check: (tables) => checkBoth(tables, all),
      moments: ['unanswered'],
    });
  });
});

type Write = (orders: MovingOrders) => Promise<unknown>;

const writes: Readonly<
  Record<string, { readonly run: Write; readonly after: number | undefined }>
> = {
  'an update': {
    run: (orders) => orders.update(order(1), (each) => ({ ...each, amount: each.amount + 1 })),
    after: 11,
  },
  'a delete': { run: (orders) => orders.delete(order(1), { ifMatch: 'any' }), after: undefined },
  'an insert': { run: (orders) => orders.insert(order(7, 70)), after: 70 },
};

describe('a writer that is killed', () => {
  const phases = ['dual-writing', 'reading-new'] as const;
  for (const [name, { run, after: expected }] of Object.entries(writes)) {
    const id = name === 'an insert' ? 7 : 1;
    const before = name === 'an insert' ? undefined : 10;
    for (const phase of phases) {
      it(`in ${name} in the phase ${phase} leaves all of it or nothing`, costly(), async () => {
        const requests = await crashEverywhere<OrderTables>({
          prepare: async () => {
            const tables = await filledWith([1]);
            await stepsTo(moveOf(tables), phase);
            return tables;
          },
          run: (tables, doomed) => run(wrapped(tables, doomed).entities),
          recover: async (tables) => {
            const move = moveOf(tables, hurried);
            const found = (await move.entities.get(order(id)))?.amount;
            assert.ok(found === before || found === expected, `${found}`);
            if (phase === 'reading-new') await move.rollBack();
            else await stepsTo(move, 'reading-new');
            assert.equal((await move.entities.get(order(id)))?.amount, found, 'it stays so');
          },
          check: async (tables) => {
            const found = await amountsOf(tables);
            const amount = (await moveOf(tables).entities.get(order(id)))?.amount;
            const side = phase === 'reading-new' ? found.old : found.new;
            assert.equal(side.get(id), amount);
          },
          ...rounds,
        });
        assert.ok(requests.length <= 8, requests.join(' '));
      });
    }

    it(`in ${name} that hands the entity over leaves all of it or nothing`, costly(), async () => {
      await crashEverywhere<OrderTables>({
        prepare: async () => {
          const tables = await filledWith([1]);
          const move = moveOf(tables);
          await stepsTo(move, 'verifying');
          const stopped = AbortSignal.abort(new Error('stopped'));
          await assert.rejects(move.cutOver({ signal: stopped }), /stopped/);
          return tables;
        },
        run: (tables, doomed) => run(wrapped(tables, doomed).entities),
        recover: async (tables) => {
          const move = moveOf(tables, hurried);
          const found = (await move.entities.get(order(id)))?.amount;
          assert.ok(found === before || found === expected, `${found}`);
          await move.cutOver();
          assert.equal((await move.entities.get(order(id)))?.amount, found);
        },
        check: async (tables) => {
          const amounts = await amountsOf(tables);
          assert.equal((await moveOf(tables).entities.get(order(id)))?.amount, amounts.new.get(id));
        },
        ...rounds,
      });
    });
  }
});

describe('a program that stood still', () => {
  for (const phase of ['reading-new', 'done'] as const) {
    it(`since the beginning writes where the entities are, in the phase ${phase}`, async () => {
      const tables = await filled();
      const still = moveOf(tables, { refreshMs: Infinity }).entities;
      await still.get(order(0));
      const move = moveOf(tables);
      await stepsTo(move, phase);
      await still.update(order(1), (each) => ({ ...each, amount: each.amount + 1 }));
      assert.equal((await move.entities.get(order(1)))?.amount, 11);
      await still.delete(order(0), { ifMatch: 'any' });
      assert.equal(await move.entities.get(order(0)), undefined);
      assert.equal((await amountsOf(tables)).new.get(1), 11);
    });
  }

  it(
    'does not undo what was done by the others, whatever it was about to write',
    costly(),
    async () => {
      for (const request of [1, 2, 3, 4, 5]) {
        const tables = await filled();
        let waiting = 0;
        let goOn: () => void = () => undefined;
        const gate = new Promise<void>((resolve) => {
          goOn = resolve;
        });
        const pausing = <T extends object>(port: T): T =>
          wrappedMethods(port, async (_name, send): Promise<unknown> => {
            waiting += 1;
            if (waiting === request) await gate;
            return send();
          });
        const move = moveOf(tables);
        await stepsTo(move, 'verifying');
        const slowTables = { old: pausing(tables.old), new: pausing(tables.new) };
        const slow = moveOf(slowTables, { refreshMs: Infinity });
        const late = slow.entities.update(order(1), (each) => ({
          ...each,
          amount: each.amount + 1,
        }));
        await move.cutOver();
        await move.entities.update(order(1), (each) => ({ ...each, amount: each.amount + 100 }));
        goOn();
        await late;
        assert.equal((await move.entities.get(order(1)))?.amount, 111, `paused at ${request}`);
        assert.equal((await amountsOf(tables)).new.get(1), 111);
      }
    },
  );
});

describe('two programs that take the same steps', () => {
  it('do no harm, and end where one would', costly(), async () => {
    const tables = await filled(9);
    const takeAll = async (): Promise<void> => {
      const move = moveOf(tables, hurried);
      await move.start();
      await move.backfill({ pageRows: 2 });
      await move.verify({ pageRows: 2 });
      await move.cutOver({ pageRows: 2 });
    };
    const untilDone = async (): Promise<void> => {
      for (let attempt = 1; ; attempt += 1) {
        try {
          return await takeAll();
        } catch (error) {
          // Another process has completed the step: begin again.
          if (attempt > 5 || !/is in the phase|has not ended/.test(String(error))) throw error;
        }
      }
    };
    await Promise.all([untilDone(), untilDone()]);
    await checkBoth(
      tables,
      Array.from({ length: 9 }, (_, id) => [id, id * 10] as const),
    );
  });
});

describe('writers and a move', () => {
  const writerCount = byLength({ short: 4, long: 8 });

  it(
    'lose no update, bring nothing back, and find all of it, there and back and there',
    costly(),
    async () => {
      const tables = await filled(8);
      const shared = Array.from({ length: 8 }, () => 0);
      const own = new Map<number, number>();
      let isOver = false;
      const isRunning = () => !isOver;
      const writer = async (number: number): Promise<void> => {
        const { entities } = moveOf(tables, { refreshMs: number % 2 === 0 ? 5 : 40 });
        for (let turn = 0; isRunning(); turn += 1) {
          const common = (turn * 3 + number) % 8;
          await entities.update(order(common), (each) => ({ ...each, amount: each.amount + 1 }));
          shared[common] = (shared[common] ?? 0) + 1;
          const id = 100 + number * 10 + (turn % 2);
          const known = own.get(id);
          assert.equal((await entities.get(order(id)))?.amount, known, `${id}`);
          if (known === undefined) {
            await entities.insert(order(id, turn));
            own.set(id, turn);
          } else if (turn % 3 === 0) {
            await entities.delete(order(id), { ifMatch: 'any' });
            own.delete(id);
          } else {
            await assert.rejects(entities.insert(order(id)), EntityExistsError);
            await entities.merge(order(id), { amount: turn }, { ifMatch: 'any' });
            own.set(id, turn);
          }
          const nothing = entities.delete(order(999), { ifMatch: 'any' });
          await assert.rejects(nothing, EntityNotFoundError);
          // Gives the move a turn.
          await delay(25);
        }
      };
      const writers = Array.from({ length: writerCount }, (_, number) =>
        writer(number).finally(() => (isOver = true)),
      );
      const settleMs = byLength({ short: 100, long: 150 });
      const move = moveOf(tables, { settleMs, timers: systemTimers });
      const pause = () => delay(settleMs);
      try {
        await pause();
        await move.start();
        await pause();
        await move.backfill({ pageRows: 10 });
        await move.verify({ pageRows: 10 });
        await move.cutOver({ pageRows: 10 });
        await pause();
        await move.rollBack({ pageRows: 10 });
        await pause();
        await stepsTo(move, 'verifying');
        await pause();
        await move.cutOver({ pageRows: 10 });
        // Until enough has happened, however slow the machine is.
        do await pause();
        while (isRunning() && shared.some((sum) => sum < 3));
      } finally {
        isOver = true;
      }
      await Promise.all(writers);
      const expected = sorted(
        new Map([...shared.map((sum, id) => [id, id * 10 + sum] as const), ...own]),
      );
      await checkBoth(tables, expected);
      const quiet = moveOf(tables);
      await quiet.rollBack();
      await checkBoth(tables, expected);
      await quiet.start();
      await quiet.backfill();
      await verifiedClean(quiet);
      await quiet.cutOver();
      await quiet.finish();
      await quiet.cleanUp();
      const { old, new: next } = await amountsOf(tables);
      assert.equal(old.size, 0);
      assert.deepEqual(sorted(next), expected);
    },
  );
});
