import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import {
  ConditionFailedError,
  dateTime,
  defineEntity,
  entitiesOf,
  EntityExistsError,
  EntityNotFoundError,
  etagOf,
  int32,
  key,
  openSpreadEntities,
  plain,
  string,
  type RowProperties,
  type TableGateway,
  type WireValue,
} from '../../src/modeling/index.js';
import { keyRing, withEncryption } from '../../src/modeling/encryption/index.js';
import {
  rebucketed,
  reKeyingOf,
  relocated,
  type MoveDrift,
} from '../../src/modeling/patterns/re-keying/index.js';
import { costly } from '../support/run-length.js';
import {
  amountsOf,
  moveOf,
  order,
  OrderByCity,
  OrderByCustomer,
  queried,
  stepsTo,
} from './support/moving-orders.js';
import { CountingKey } from './support/encryption-keys.js';
import { startTables } from './support/observed-tables.js';

const started = await startTables();
after(() => started[Symbol.asyncDispose]());

async function newTables() {
  const [old, next] = [await started.newTable(), await started.newTable()];
  const take = () => ({ old: old.takeKinds(), new: next.takeKinds() });
  return { tables: { old: old.gateway, new: next.gateway }, take };
}

async function filled(count = 7) {
  const { tables, take } = await newTables();
  const orders = entitiesOf(OrderByCustomer, tables.old);
  for (let id = 0; id < count; id += 1) {
    const { city, ...values } = order(id, id * 10);
    await orders.insert({ ...values, town: city });
  }
  take();
  return { tables, take, orders };
}

const brimming = { partitionKey: 'contoso', rowKey: 'c0_0200' };

/** An order with as many properties as an entity may have: the marks of a move find no room. */
async function fillToTheBrim(
  table: TableGateway,
  at: typeof brimming,
  others = 249,
): Promise<void> {
  const names = Array.from({ length: others }, (_, index) => `p${index}`);
  const text = { type: 'String', value: 'x' } as const;
  const properties: RowProperties = {
    ...Object.fromEntries(names.map((name) => [name, text])),
    EntityType: { type: 'String', value: 'Order' },
    amount: { type: 'Int32', value: 1 },
  };
  await table.write({ kind: 'insert', row: { ...at, properties } });
}

const ids = (amounts: ReadonlyMap<number, number>) =>
  [...amounts.keys()].sort((left, right) => left - right);

const phases = ['old', 'dual-writing', 'verifying', 'reading-new', 'done'] as const;

async function inPhase(phase: (typeof phases)[number], count?: number) {
  const world = await filled(count);
  const move = moveOf(world.tables);
  if (phase !== 'old') await stepsTo(move, phase);
  world.take();
  return { ...world, move, orders: move.entities };
}

describe('entities that are being moved', () => {
  for (const phase of phases) {
    it(`are read and written alike in the phase ${phase}`, async () => {
      const { tables, move, orders } = await inPhase(phase);
      assert.equal((await move.state()).phase, phase);
      const three = await orders.get(order(3));
      assert.deepEqual(three && plain(three), order(3, 30));
      await assert.rejects(orders.insert(order(3)), EntityExistsError);
      const fresh = await orders.insert(order(100, 1));
      assert.equal((await orders.get(order(100)))?.amount, 1);
      const replaced = await orders.replace({ ...fresh, amount: 2, note: 'twice' });
      await assert.rejects(orders.replace({ ...fresh, amount: 9 }), ConditionFailedError);
      const merged = await orders.merge(order(100), { amount: 3 }, { ifMatch: etagOf(replaced) });
      assert.deepEqual(plain(merged), { ...order(100, 3), note: 'twice' });
      await orders.upsertReplace(order(101, 5));
      await orders.update(order(3), (current) => ({ ...current, amount: current.amount + 1 }));
      await orders.update(order(102), () => undefined, { ifAbsent: () => order(102, 6) });
      await assert.rejects(
        orders.update(order(103), () => undefined),
        EntityNotFoundError,
      );
      await orders.delete(order(4), { ifMatch: 'any' });
      await assert.rejects(orders.delete(order(4), { ifMatch: 'any' }), EntityNotFoundError);
      assert.equal(await orders.deleteIfExists(order(4)), false);
      assert.equal(await orders.get(order(4)), undefined);
      await assert.rejects(
        orders.update(order(5), (current) => ({ ...current, city: 'elsewhere' })),
        /would move/,
      );
      const expected = new Map([
        [0, 0],
        [1, 10],
        [2, 20],
        [3, 31],
        [5, 50],
        [6, 60],
        [100, 3],
        [101, 5],
        [102, 6],
      ]);
      const byId = (left: [number, number], right: [number, number]) => left[0] - right[0];
      assert.deepEqual([...(await queried(tables, move))].sort(byId), [...expected]);
    });
  }

  it('keep their ETags while they are handed over, and are not in conflict with it', async () => {
    const { move, orders } = await inPhase('verifying');
    const three = await orders.get(order(3));
    assert.ok(three);
    await move.cutOver();
    const seen = await orders.get(order(3));
    assert.equal(etagOf(seen ?? {}), etagOf(three));
    await orders.replace({ ...three, amount: 31 });
    await assert.rejects(orders.replace({ ...three, amount: 32 }), ConditionFailedError);
    await move.rollBack();
    assert.equal((await orders.get(order(3)))?.amount, 31);
  });

  it('are read though they have more properties than the new side takes, and not changed', async () => {
    const { tables, move, orders } = await inPhase('old', 2);
    // The new definition stores its version besides.
    await fillToTheBrim(tables.old, brimming, 250);
    assert.deepEqual(ids(await queried(tables, move)), [0, 1, 200]);
    const address = { customer: 'contoso', city: 'c0', id: 200 };
    assert.equal((await orders.get(address))?.amount, 1);
    await assert.rejects(orders.merge(address, { amount: 2 }, { ifMatch: 'any' }), {
      name: 'TooLargeError',
    });
    assert.equal((await orders.get(address))?.amount, 1);
    await move.start();
    assert.equal((await move.backfill()).refused, 1);
  });

  it('are deleted and made smaller though they are too large for the new side', async () => {
    for (const phase of ['old', 'dual-writing'] as const) {
      for (const change of ['delete', 'replace'] as const) {
        const { tables, move, orders } = await inPhase('old', 2);
        await fillToTheBrim(tables.old, brimming, 250);
        if (phase === 'dual-writing') await move.start();
        const address = { customer: 'contoso', city: 'c0', id: 200 };
        const merged = orders.merge(address, { amount: 2 }, { ifMatch: 'any' });
        await assert.rejects(merged, { name: 'TooLargeError' });
        if (change === 'delete') await orders.delete(address, { ifMatch: 'any' });
        else await orders.upsertReplace({ ...address, amount: 3 });
        const expected = change === 'delete' ? undefined : 3;
        assert.equal((await orders.get(address))?.amount, expected, `${change} while ${phase}`);
        if (phase === 'old') await move.start();
        assert.equal((await move.backfill()).refused, 0);
      }
    }
  });

  it('keep properties that neither definition knows', async () => {
    const { tables, move, orders } = await inPhase('old', 0);
    await tables.old.write({
      kind: 'insert',
      row: {
        partitionKey: 'contoso',
        rowKey: 'c2_0002',
        properties: { Colour: { type: 'String', value: 'red' } },
      },
    });
    await stepsTo(move, 'reading-new');
    await orders.update(order(2), (current) => ({ ...current, amount: 1 }));
    const there = { partitionKey: 'c2', rowKey: '0002_contoso' };
    assert.equal((await tables.new.get(there))?.properties['Colour']?.value, 'red');
    await move.rollBack();
    const back = await tables.old.get({ partitionKey: 'contoso', rowKey: 'c2_0002' });
    assert.equal(back?.properties['Colour']?.value, 'red');
    assert.equal(back.properties['amount']?.value, 1);
  });

  it('are converted by functions that spread the whole entity of the other side', async () => {
    const { tables } = await filled();
    const move = moveOf(tables, {
      forward: (old) => ({ ...old, city: old.town }),
      backward: (entity) => ({ ...entity, town: entity.city }),
    });
    await stepsTo(move, 'verifying');
    await move.entities.update(order(3), (each) => ({ ...each, amount: 31 }));
    await move.cutOver();
    await move.entities.update(order(3), (each) => ({ ...each, note: 'moved' }));
    const found = await move.entities.get(order(3));
    assert.deepEqual(found && plain(found), { ...order(3, 31), note: 'moved' });
    const wrong = moveOf((await filled(1)).tables, {
      forward: (old) => ({ ...old, city: old.town, citty: old.town }),
    });
    await assert.rejects(wrong.entities.get(order(0)), /no property 'citty'/);
  });

  it('take the requests that the guide says', async () => {
    const read = ['point-read'];
    const control = ['point-read'];
    const expected = {
      old: { get: [read, []], update: [['point-read', 'update'], []] },
      'dual-writing': {
        get: [read, []],
        update: [
          ['point-read', 'update'],
          ['point-read', 'insert'],
        ],
      },
      verifying: {
        get: [read, []],
        update: [
          ['point-read', 'update'],
          ['point-read', 'update'],
        ],
      },
      'reading-new': {
        get: [[], read],
        update: [
          ['point-read', 'update'],
          ['point-read', 'update'],
        ],
      },
      done: { get: [[], read], update: [[], ['point-read', 'update']] },
    };
    for (const phase of phases) {
      const { orders, take, tables } = await inPhase(phase);
      const patient = moveOf(tables, { refreshMs: 60_000 });
      await patient.entities.get(order(1));
      take();
      await patient.entities.get(order(2));
      const got = take();
      assert.deepEqual([got.old, got.new], expected[phase].get, `get in ${phase}`);
      await patient.entities.update(order(2), (each) => ({ ...each, amount: 1 }));
      const updated = take();
      assert.deepEqual([updated.old, updated.new], expected[phase].update, `update in ${phase}`);
      // Without a cached phase, the control row is read as well.
      await orders.get(order(2));
      assert.deepEqual(take().old.slice(0, 1), control);
    }
  });

  it('are handed over by who touches them, with a write of either side more', async () => {
    const { tables, take } = await inPhase('verifying');
    const move = moveOf(tables, { refreshMs: 60_000 });
    const abort = AbortSignal.abort(new Error('stopped before the first page'));
    await assert.rejects(move.cutOver({ signal: abort }), /stopped/);
    await move.entities.get(order(1));
    take();
    await move.entities.update(order(2), (each) => ({ ...each, amount: 21 }));
    const { old, new: next } = take();
    assert.deepEqual(next, ['point-read', 'update']);
    assert.deepEqual(old, ['point-read', 'point-read', 'update', 'update']);
    assert.equal((await move.entities.get(order(2)))?.amount, 21);
    assert.equal((await queried(tables, move)).get(2), 21);
  });
});

describe('the steps of a move', () => {
  it('go on where they were stopped, and do nothing again', async () => {
    const { tables } = await filled(9);
    const move = moveOf(tables);
    const stopping = new AbortController();
    await move.start();
    const backfill = move.backfill({
      pageRows: 2,
      signal: stopping.signal,
      onProgress: ({ checked }) => {
        if (checked >= 4) stopping.abort(new Error('stopped'));
      },
    });
    await assert.rejects(backfill, /stopped/);
    assert.deepEqual(await move.state(), {
      phase: 'backfilling',
      version: 2,
      checked: 5,
      written: 5,
      refused: 0,
    });
    const other = moveOf(tables);
    await assert.rejects(other.verify(), /has not ended its backfilling/);
    const whole = { checked: 9, written: 9, refused: 0 };
    assert.deepEqual(await other.backfill({ pageRows: 2 }), whole);
    await stepsTo(other, 'done');
    await stepsTo(other, 'done');
    assert.equal((await other.state()).phase, 'done');
    await assert.rejects(other.rollBack(), /is in the phase 'done'/);
  });

  it('find drift of either side and mend it', async () => {
    const { tables, move } = await inPhase('verifying');
    const copies = entitiesOf(OrderByCity, tables.new);
    await copies.merge(order(1), { amount: 99 }, { ifMatch: 'any' });
    await copies.delete(order(2), { ifMatch: 'any' });
    const orders = entitiesOf(OrderByCustomer, tables.old);
    await orders.delete({ customer: 'fabrikam', town: 'c0', id: 3 }, { ifMatch: 'any' });
    await copies.insert(order(50));
    const drifts: MoveDrift[] = [];
    const report = await move.verify({ onDrift: (drift) => drifts.push(drift) });
    assert.deepEqual(drifts.map(({ kind }) => kind).sort(), ['different', 'missing', 'surplus']);
    assert.equal(report.written, 3);
    drifts.length = 0;
    await move.verify({ onDrift: (drift) => drifts.push(drift) });
    assert.deepEqual(drifts, []);
    const amounts = await amountsOf(tables);
    assert.equal(amounts.new.get(1), 10);
    assert.equal(amounts.new.has(3), false);
    assert.equal(amounts.new.has(50), true, 'what others keep there is left alone');
  });

  it('leave what does not move alone', async () => {
    const { tables } = await filled();
    const move = moveOf(tables, { only: ({ city }) => city === 'c1' });
    await stepsTo(move, 'done');
    await move.cleanUp();
    const { old, new: next } = await amountsOf(tables);
    assert.deepEqual(ids(next), [1, 4]);
    assert.deepEqual(ids(old), [0, 2, 3, 5, 6]);
  });

  it('clean up what is given up, and nothing that was written otherwise', costly(), async () => {
    const { tables, move, orders } = await inPhase('reading-new');
    await orders.delete(order(0), { ifMatch: 'any' });
    await orders.delete(order(1), { ifMatch: 'any' });
    await move.finish();
    await entitiesOf(OrderByCustomer, tables.old).insert({
      customer: 'stray',
      town: 'c0',
      id: 77,
    });
    const drifts: MoveDrift[] = [];
    const report = await move.cleanUp({ onDrift: (drift) => drifts.push(drift) });
    assert.equal(report.written, 9, 'seven old rows and two places of deleted entities');
    assert.deepEqual(
      drifts.map(({ kind, partitionKey }) => [kind, partitionKey]),
      [['refused', 'stray']],
    );
    const { old, new: next } = await amountsOf(tables);
    assert.deepEqual([...old.keys()], [77]);
    assert.equal(next.size, 5);
    assert.equal((await tables.new.page({})).rows.length, 5);
  });

  it('leave the old side as it was after rolling back and cleaning up', costly(), async () => {
    const { tables, move, orders } = await inPhase('reading-new');
    await orders.delete(order(0), { ifMatch: 'any' });
    await orders.insert(order(20, 200));
    await move.rollBack({ pageRows: 2 });
    await move.cleanUp();
    const { old, new: next } = await amountsOf(tables);
    assert.equal(next.size, 0);
    assert.equal((await tables.new.page({})).rows.length, 0);
    assert.deepEqual(ids(old), [1, 2, 3, 4, 5, 6, 20]);
    // Programs without the move continue on the old table.
    const plainOrders = entitiesOf(OrderByCustomer, tables.old);
    await plainOrders.insert({ customer: 'contoso', town: 'c0', id: 0 });
    // The move can be started again.
    await stepsTo(move, 'done');
    assert.equal((await amountsOf(tables)).new.size, 8);
  });

  it('roll back from every phase before the end', costly(), async () => {
    for (const phase of ['dual-writing', 'verifying', 'reading-new'] as const) {
      const { move, orders, tables } = await inPhase(phase);
      await orders.update(order(1), (each) => ({ ...each, amount: 11 }));
      await move.rollBack();
      assert.equal((await move.state()).phase, 'old');
      const { old } = await amountsOf(tables);
      assert.equal(old.get(1), 11);
      assert.equal(old.size, 7);
    }
  });

  it('go on to the new side only when no row was refused', async () => {
    const { tables, move } = await inPhase('old');
    await fillToTheBrim(tables.old, brimming);
    const unreadable = { partitionKey: 'contoso', rowKey: 'c2_0002' };
    const amountIs = (value: WireValue) =>
      tables.old.write({
        kind: 'merge',
        row: { ...unreadable, properties: { amount: value } },
        etag: '*',
      });
    await amountIs({ type: 'String', value: 'many' });
    await move.start();
    assert.equal((await move.backfill()).refused, 2);
    const drifts: MoveDrift[] = [];
    assert.equal((await move.verify({ onDrift: (drift) => drifts.push(drift) })).refused, 2);
    const found = new Map(drifts.map(({ kind, rowKey }) => [rowKey, kind]));
    const refused = [brimming, unreadable].map(({ rowKey }) => [rowKey, 'refused'] as const);
    assert.deepEqual(found, new Map(refused));
    await assert.rejects(move.cutOver(), /2 in all; .* call verify again/);
    assert.equal((await move.state()).phase, 'verifying');
    await amountIs({ type: 'Int32', value: 20 });
    await tables.old.write({ kind: 'delete', key: brimming, etag: '*' });
    assert.equal((await move.verify()).refused, 0);
    await move.cutOver();
    assert.equal((await amountsOf(tables)).new.size, 7);
  });

  it('stay where they are while a row is refused that was whole before', costly(), async () => {
    const { tables, move } = await inPhase('verifying');
    await fillToTheBrim(tables.old, brimming);
    await entitiesOf(OrderByCity, tables.new).delete(order(2), { ifMatch: 'any' });
    const properties = { EntityVersion: { type: 'Int32', value: 2 } } as const;
    const inTheWay = { partitionKey: 'c2', rowKey: '0002_contoso', properties };
    await tables.new.write({ kind: 'insert', row: inTheWay });
    await assert.rejects(move.cutOver(), /2 in all; .* call cutOver again/);
    assert.equal((await move.state()).phase, 'cutting-over');
    assert.equal((await queried(tables, move)).size, 8, 'queries see what stayed');
    // What was never handed over is no obstacle on the way back.
    await tables.old.write({
      kind: 'merge',
      row: { ...brimming, properties: { amount: { type: 'String', value: 'many' } } },
      etag: '*',
    });
    await move.rollBack();
    assert.equal((await move.state()).phase, 'old');
  });

  it('hand everything back before they are at their beginning again', async () => {
    const { tables, move, orders } = await inPhase('reading-new');
    await orders.insert(order(20, 200));
    const twenty = { partitionKey: 'c2', rowKey: '0020_contoso' };
    const amount = { type: 'String', value: 'many' } as const;
    await tables.new.write({
      kind: 'merge',
      row: { ...twenty, properties: { amount } },
      etag: '*',
    });
    // It is met on both sides.
    await assert.rejects(move.rollBack(), /2 in all; .* call rollBack again/);
    assert.equal((await move.state()).phase, 'rolling-back');
    await tables.new.write({
      kind: 'merge',
      row: { ...twenty, properties: { amount: { type: 'Int32', value: 201 } } },
      etag: '*',
    });
    await move.rollBack();
    assert.equal((await amountsOf(tables)).old.get(20), 201);
  });

  it('refuse what cannot be moved', async () => {
    const { tables, move } = await inPhase('old');
    assert.throws(() => moveOf({ ...tables, new: tables.old }), /inside of one table/);
    assert.throws(() => moveOf(tables, { name: '' }), /needs a name/);
    await assert.rejects(move.cutOver(), /is in the phase 'old'/);
    await assert.rejects(move.finish(), /is in the phase 'old'/);
  });
});

describe('moves that are ready', () => {
  it('spread rows over more buckets, and over fewer', costly(), async () => {
    const Event = defineEntity({
      type: 'Event',
      properties: { bucket: int32(), id: int32(), text: string() },
      partitionKey: (p) => key`${p.bucket.padded(3)}`,
      rowKey: (p) => key`${p.id.padded(6)}`,
    });
    const { tables } = await newTables();
    const four = await openSpreadEntities(Event, tables.old, { bucket: 'bucket', buckets: 4 });
    for (let id = 0; id < 20; id += 1) await four.insert({ id, text: `event ${id}` });
    const nine = await openSpreadEntities(Event, tables.new, { bucket: 'bucket', buckets: 9 });
    const split = reKeyingOf({ name: 'split', ...rebucketed(four, nine), settleMs: 0 });
    await split.start();
    await split.entities.insert(nine.entity({ id: 20, text: 'event 20' }));
    await split.backfill();
    await split.verify();
    await split.cutOver();
    await split.entities.update({ id: 7 }, (event) => ({ ...event, text: 'seven' }));
    await split.finish();
    await split.cleanUp();
    const texts = async (events: typeof nine) =>
      (await events.query({ partition: {} }).toArray({ max: 99 })).map(({ text }) => text);
    const expected = Array.from({ length: 21 }, (_, id) => (id === 7 ? 'seven' : `event ${id}`));
    assert.deepEqual(await texts(nine), expected);
    assert.deepEqual(await texts(four), []);

    const merge = reKeyingOf({ name: 'merge', ...rebucketed(nine, four), settleMs: 0 });
    await merge.start();
    await merge.backfill();
    await merge.verify();
    await merge.cutOver();
    await merge.finish();
    assert.deepEqual(await texts(four), expected);
  });

  it('take rows to another table with the keys they have', async () => {
    const { tables, orders } = await filled();
    const move = reKeyingOf({
      name: 'away',
      ...relocated(OrderByCustomer, tables.old, tables.new),
      settleMs: 0,
    });
    await move.start();
    await move.backfill();
    await move.verify();
    await move.cutOver();
    const there = entitiesOf(OrderByCustomer, tables.new);
    const one = { customer: 'fabrikam', town: 'c1', id: 1 };
    const [moved, kept] = [await there.get(one), await orders.get(one)];
    assert.deepEqual(moved && plain(moved), kept && plain(kept));
  });

  it('take encrypted and computed properties and exact dates along, and back', async () => {
    const Secret = defineEntity({
      type: 'Secret',
      properties: {
        owner: string(),
        id: int32(),
        text: string().encrypted(),
        at: dateTime(),
        search: string().computed({ owner: string() }, ({ owner }) => owner.toLowerCase()),
      },
      partitionKey: (p) => key`${p.owner}`,
      rowKey: (p) => key`${p.id.padded(4)}`,
    });
    const { tables } = await newTables();
    const ring = { keys: keyRing(new CountingKey('first').kek) };
    const [old, next] = [withEncryption(tables.old, ring), withEncryption(tables.new, ring)];
    const secrets = entitiesOf(Secret, old);
    const at = new Date('2020-01-01T00:00:00Z');
    for (let id = 0; id < 3; id += 1) {
      await secrets.insert({ owner: 'Ann', id, text: `secret ${id}`, at });
    }
    const exact = { type: 'DateTime', value: 637_134_336_000_000_007n } as const;
    const first = { partitionKey: 'Ann', rowKey: '0000' };
    const plainDate = { ...first, properties: { at: exact } };
    await tables.old.write({ kind: 'merge', row: plainDate, etag: '*' });
    const move = reKeyingOf({ name: 'away', ...relocated(Secret, old, next), settleMs: 0 });
    await move.start();
    await move.backfill();
    await move.verify({ onDrift: (drift) => assert.fail(JSON.stringify(drift)) });
    await move.cutOver();
    const one = await move.entities.get({ owner: 'Ann', id: 1 });
    assert.deepEqual([one?.text, one?.search], ['secret 1', 'ann']);
    await move.entities.update({ owner: 'Ann', id: 1 }, (each) => ({ ...each, text: 'new' }));
    assert.equal((await next.get(first))?.properties['at']?.value, exact.value);
    assert.equal((await tables.new.get(first))?.properties['text']?.type, 'Binary');
    await move.rollBack();
    assert.equal((await old.get(first))?.properties['at']?.value, exact.value);
    assert.equal((await secrets.get({ owner: 'Ann', id: 1 }))?.text, 'new');
    assert.equal((await tables.old.get(first))?.properties['text']?.type, 'Binary');
  });
});
