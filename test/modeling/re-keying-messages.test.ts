import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import {
  codecOf,
  defineEntity,
  entitiesOf,
  int32,
  key,
  string,
  type TableGateway,
} from '../../src/modeling/index.js';
import { announcement, openModel, type MoveTelling } from '../../src/modeling/model/index.js';
import {
  changeFeed,
  changeFeedOf,
  payloadOf,
  RowsChangedMessage,
} from '../../src/modeling/patterns/change-feed/index.js';
import { archiveEntities } from '../../src/modeling/patterns/high-volume-delete/index.js';
import { reKeyingOf } from '../../src/modeling/patterns/re-keying/index.js';
import { defineMessage, handle, keyPayload } from '../../src/modeling/worker/index.js';
import { costly } from '../support/run-length.js';
import { MemoryRows, MemoryTable } from './support/memory-table.js';
import { startTables } from './support/observed-tables.js';

// Tables whose changes are announced while they move to other keys or into an archive: by the
// recipe of the guide, and where announcements leave moves out.

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
const keepsOf = (moves: MoveTelling) => ({
  old: [
    announcement({ source: ByCustomer, message: Changed, of: changed, moves }),
    announcement({ source: ByCustomer, message: Deleted, of: deleted, moves }),
  ],
  new: [
    announcement({ source: ByCity, message: Changed, of: changed, moves }),
    announcement({ source: ByCity, message: Deleted, of: deleted, moves }),
  ],
});
const keeps = keepsOf('announced');

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

/** The models of both tables of a move, which announce and have feeds, and what they have told. */
function newModels(moves: MoveTelling) {
  const tables = {
    old: new MemoryTable(new MemoryRows(), { table: 'old' }),
    new: new MemoryTable(new MemoryRows(), { table: 'new' }),
  };
  const told: string[] = [];
  const handlers = [
    handle(Changed, ({ id }) => Promise.resolve(void told.push(`changed ${id}`))),
    handle(Deleted, ({ id }) => Promise.resolve(void told.push(`deleted ${id}`))),
  ];
  const open = (side: Side) =>
    openModel({
      table: tables[side],
      entities: {},
      handlers,
      keeps: [...keepsOf(moves)[side], changeFeed({ moves })],
    });
  const models = { old: open('old'), new: open('new') };
  const said = async (): Promise<readonly string[]> => {
    for (const model of [models.old, models.new]) await model.drain();
    return told.splice(0).sort();
  };
  const feed = async (side: Side, partition: string): Promise<readonly string[]> => {
    await models[side].drain();
    const { events } = await changeFeedOf(models[side].table).read(partition);
    const payloads = await Promise.all(events.map((each) => payloadOf(RowsChangedMessage, each)));
    return payloads.flatMap((each) =>
      (each?.rows ?? []).map(({ rowKey, change }) => `${change} ${rowKey}`),
    );
  };
  return { models, tables, move: moveOf(models.old.table, models.new.table), said, feed };
}

const raise = (move: ReturnType<typeof moveOf>, id: number) =>
  move.entities.update(at(id), (order) => ({ ...order, amount: order.amount + 1 }));

describe('announcements that leave moves out', () => {
  it('tell each change of a program once in every phase, and no step', async () => {
    const { move, said, feed } = newModels('silent');
    for (const id of [1, 2, 3]) await move.entities.insert({ ...at(id), amount: id });
    assert.deepEqual(await said(), ['changed 1', 'changed 2', 'changed 3']);
    await move.start();
    await raise(move, 1);
    assert.deepEqual(await said(), ['changed 1']);
    await move.backfill();
    await move.verify();
    await move.cutOver();
    assert.deepEqual(await said(), []);
    await raise(move, 2);
    await move.entities.delete(at(3), { ifMatch: 'any' });
    assert.deepEqual(await said(), ['changed 2', 'deleted 3']);
    await move.finish();
    await move.cleanUp();
    assert.deepEqual(await said(), []);
    await raise(move, 1);
    assert.deepEqual(await said(), ['changed 1']);
    assert.deepEqual(await feed('old', 'contoso'), [
      'inserted Oslo_000001',
      'inserted Oslo_000002',
      'inserted Oslo_000003',
      'replaced Oslo_000001',
    ]);
    assert.deepEqual(await feed('new', 'city_Oslo'), [
      'replaced 000002_contoso',
      'replaced 000003_contoso',
      'deleted 000003_contoso',
      'replaced 000001_contoso',
    ]);
  });

  it('tell a deleted entity once, though feeds tell its key again when its marker goes', async () => {
    const deletedIn = async (phase: 'backfilling' | 'reading-new', end: 'finish' | 'rollBack') => {
      const { move, said, feed } = newModels('silent');
      await move.entities.insert({ ...at(1), amount: 1 });
      await said();
      await move.start();
      await move.backfill();
      if (phase === 'backfilling') await move.entities.delete(at(1), { ifMatch: 'any' });
      await move.verify();
      await move.cutOver();
      if (phase === 'reading-new') await move.entities.delete(at(1), { ifMatch: 'any' });
      await move[end]();
      await move.cleanUp();
      assert.deepEqual(await said(), ['deleted 1']);
      const [inserted, ...old] = await feed('old', 'contoso');
      assert.equal(inserted, 'inserted Oslo_000001');
      return { old, new: await feed('new', 'city_Oslo') };
    };
    const [old, next] = ['deleted Oslo_000001', 'deleted 000001_contoso'];
    assert.deepEqual(await deletedIn('backfilling', 'finish'), { old: [old], new: [next] });
    assert.deepEqual(await deletedIn('backfilling', 'rollBack'), { old: [old, old], new: [] });
    const replaced = 'replaced 000001_contoso';
    assert.deepEqual(await deletedIn('reading-new', 'finish'), { old: [], new: [replaced, next] });
    assert.deepEqual(await deletedIn('reading-new', 'rollBack'), { old: [old], new: [replaced] });
  });

  it('tell the change that hands an entity over which has no copy yet', async () => {
    const { models, tables: rows, move, said } = newModels('silent');
    for (const id of [1, 2]) await move.entities.insert({ ...at(id), amount: id });
    await move.start();
    await move.backfill();
    await move.verify();
    // As of writers that crashed before they copied.
    for (const id of [1, 2]) {
      const rowKey = codecOf(ByCity).key(at(id));
      await rows.new.write({ kind: 'delete', key: rowKey, etag: '*' });
    }
    await said();
    const stop = new AbortController();
    stop.abort();
    await assert.rejects(move.cutOver({ signal: stop.signal }), { name: 'AbortError' });
    assert.equal((await move.state()).phase, 'cutting-over');
    const seen = moveOf(models.old.table, models.new.table);
    await seen.entities.delete(at(1), { ifMatch: 'any' });
    await raise(seen, 2);
    assert.deepEqual(await said(), ['changed 2', 'deleted 1']);
    await move.cutOver();
    assert.deepEqual(await said(), []);
    assert.equal((await move.entities.get(at(2)))?.amount, 3);
    assert.equal(await move.entities.get(at(1)), undefined);
  });

  it('tell nothing of an archive, whose deletes are told otherwise', async () => {
    const archived = async (moves: MoveTelling): Promise<readonly (readonly string[])[]> => {
      const { models, said, feed } = newModels(moves);
      const orders = entitiesOf(ByCustomer, models.old.table);
      for (const id of [1, 2]) await orders.insert({ ...at(id), amount: id });
      await said();
      const to = entitiesOf(ByCity, models.new.table);
      const report = await archiveEntities({
        from: orders,
        query: { where: (p) => p.amount.eq(1) },
        to,
        convert: ({ customer, city, id, amount }) => ({ customer, city, id, amount }),
      });
      assert.deepEqual(report, { archived: 1, changed: 0 });
      assert.equal((await to.get(at(1)))?.amount, 1);
      assert.equal(await orders.get(at(1)), undefined);
      return [await said(), await feed('old', 'contoso'), await feed('new', 'city_Oslo')];
    };
    const inserts = ['inserted Oslo_000001', 'inserted Oslo_000002'];
    assert.deepEqual(await archived('silent'), [[], inserts, []]);
    assert.deepEqual(await archived('announced'), [
      ['changed 1', 'deleted 1'],
      [...inserts, 'deleted Oslo_000001'],
      ['inserted 000001_contoso'],
    ]);
  });
});
