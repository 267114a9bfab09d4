import assert from 'node:assert/strict';
import { after, it } from 'node:test';
import { defineEntity, int32, key, string, type TableGateway } from '../../src/modeling/index.js';
import { announcement, openModel } from '../../src/modeling/model/index.js';
import { reKeyingOf } from '../../src/modeling/patterns/re-keying/index.js';
import { defineMessage, handle, keyPayload } from '../../src/modeling/worker/index.js';
import { costly } from '../support/run-length.js';
import { startTables } from './support/observed-tables.js';

// The recipe of the guide for a table whose changes are announced while it moves to other keys.

const tables = await startTables();
after(() => tables[Symbol.asyncDispose]());

const properties = { customer: string(), city: string(), id: int32(), amount: int32() };
const ByCustomer = defineEntity({
  type: 'Order',
  properties,
  partitionKey: (p) => key`${p.customer}`,
  rowKey: (p) => key`${p.city}_${p.id.padded(6)}`,
});
const ByCity = defineEntity({
  type: 'Order',
  properties,
  partitionKey: (p) => key`city_${p.city}`,
  rowKey: (p) => key`${p.id.padded(6)}_${p.customer}`,
});
const Changed = defineMessage('changed', { payload: keyPayload(ByCustomer) });
const Deleted = defineMessage('deleted', { payload: keyPayload(ByCustomer) });
const at = (id: number) => ({ customer: 'contoso', city: 'Oslo', id });

type Side = 'old' | 'new';
type Order = ReturnType<typeof at>;
interface Change {
  readonly before: Order | undefined;
  readonly after: Order | undefined;
}

const changed = ({ after: order }: Change) => order;
const deleted = ({ before, after: order }: Change) => (order === undefined ? before : undefined);
const keeps = {
  old: [
    announcement({ source: ByCustomer, message: Changed, of: changed }),
    announcement({ source: ByCustomer, message: Deleted, of: deleted }),
  ],
  new: [
    announcement({ source: ByCity, message: Changed, of: changed }),
    announcement({ source: ByCity, message: Deleted, of: deleted }),
  ],
};

/** The programs of a stage, which announce on these sides, and what is told in it. */
async function stage(
  places: Readonly<Record<Side, TableGateway>>,
  announcing: readonly Side[],
  work: (move: ReturnType<typeof moveOf>) => Promise<unknown>,
): Promise<readonly string[]> {
  const told = new Set<string>();
  const handlers = [
    handle(Changed, ({ id }) => Promise.resolve(void told.add(`changed ${id}`))),
    handle(Deleted, ({ id }) => Promise.resolve(void told.add(`deleted ${id}`))),
  ];
  const open = (side: Side) =>
    openModel({
      table: places[side],
      entities: {},
      handlers,
      keeps: announcing.includes(side) ? keeps[side] : [],
    });
  const [olds, news] = [open('old'), open('new')];
  await work(moveOf(olds.table, news.table));
  for (const model of [olds, news]) {
    await model.drain();
    await model.close();
  }
  return [...told].sort();
}

function moveOf(oldTable: TableGateway, newTable: TableGateway) {
  return reKeyingOf({
    name: 'by city',
    from: { definition: ByCustomer, table: oldTable },
    to: { definition: ByCity, table: newTable },
    keys: (order: { customer: string; city: string; id: number }) => ({ old: order, new: order }),
    forward: (order) => order,
    backward: (order) => order,
    settleMs: 0,
    refreshMs: 0,
  });
}

it(
  'a move tells each change, and no deletion of what only moves, as the guide has it',
  costly(),
  async () => {
    const [old, next] = [await tables.newTable(), await tables.newTable()];
    const places = { old: old.gateway, new: next.gateway };
    const raised = (move: ReturnType<typeof moveOf>, id: number) =>
      move.entities.update(at(id), (order) => ({ ...order, amount: order.amount + 1 }));
    const moved = await stage(places, ['old'], async (move) => {
      for (const id of [1, 2, 3]) await move.entities.insert({ ...at(id), amount: id });
      await move.start();
      await move.backfill();
      await move.verify();
      await move.cutOver();
      await raised(move, 1);
    });
    assert.deepEqual(moved, ['changed 1', 'changed 2', 'changed 3']);
    const finished = await stage(places, ['old', 'new'], async (move) => {
      await raised(move, 2);
      await move.entities.delete(at(3), { ifMatch: 'any' });
      await move.finish();
      await raised(move, 1);
    });
    assert.deepEqual(finished, ['changed 1', 'changed 2', 'deleted 3']);
    const cleaned = await stage(places, ['new'], async (move) => {
      await raised(move, 2);
      await move.cleanUp();
    });
    assert.deepEqual(cleaned, ['changed 2']);
  },
);
