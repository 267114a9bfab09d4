import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { manualClock } from '../../src/base/clock.js';
import {
  defineEntity,
  entitiesOf,
  int32,
  key,
  rowKeyOf,
  string,
  ValueError,
} from '../../src/modeling/index.js';
import {
  contextReference,
  contextsOf,
  OrphanMessage,
  readOnly,
  ReadOnlyContextError,
  type ReferenceReport,
} from '../../src/modeling/patterns/contexts/index.js';
import { MalformedMessageError, readPayload } from '../../src/modeling/worker/message-type.js';
import { decodeEnvelope } from '../../src/modeling/worker/envelope.js';
import type { SendingQueue } from '../../src/modeling/worker/index.js';
import { MemoryRows, MemoryTable } from './support/memory-table.js';
import { startTables } from './support/observed-tables.js';
import { costly } from '../support/run-length.js';

const [one, other] = [await startTables({ inMemory: true }), await startTables({ inMemory: true })];
after(() => Promise.all([one, other].map((each) => each[Symbol.asyncDispose]())));

// Everything was written before.
const later = { clock: manualClock((Date.now() + 86_400_000) * 1000) };

const Customer = defineEntity({
  type: 'Customer',
  properties: { id: int32(), name: string() },
  partitionKey: (p) => key`${p.id.padded(6)}`,
  rowKey: () => key`customer`,
});
const Invoice = defineEntity({
  type: 'Invoice',
  properties: { year: int32(), id: int32(), customer: int32().optional() },
  partitionKey: (p) => key`${p.year.padded(4)}`,
  rowKey: (p) => key`${p.id.padded(6)}`,
});

async function world() {
  const customers = (await one.newTable()).gateway;
  const invoices = (await other.newTable()).gateway;
  const entities = entitiesOf(Invoice, invoices);
  const billed = contextReference(
    'invoice to customer',
    Invoice,
    Customer,
    ({ customer }) => (customer === undefined ? undefined : { id: customer }),
    async (invoice) => {
      await entities.deleteIfExists(invoice);
    },
  );
  const areas = contextsOf(
    { customers: [[Customer, readOnly(customers)]], billing: [[Invoice, invoices]] },
    [billed],
  );
  await entitiesOf(Customer, customers).insert({ id: 1, name: 'Contoso' });
  for (const [id, customer] of [1, 2, undefined].entries()) {
    await entities.insert({ year: 2024, id, customer });
  }
  return { areas, billed, customers, invoices };
}

describe('bounded contexts', () => {
  it('have types of their own, and only the access that they were given', async () => {
    const { areas, billed, customers, invoices } = await world();
    const found = areas.entities('customers', Customer);
    assert.equal((await found.get({ id: 1 }))?.name, 'Contoso');
    await assert.rejects(found.insert({ id: 3, name: 'Fabrikam' }), ReadOnlyContextError);
    assert.throws(() => areas.entities('billing', Customer), /has no type Customer/);
    assert.throws(
      () => contextsOf({ a: [[Customer, customers]], b: [[Customer, invoices]] }),
      /of the contexts 'a' and 'b'/,
    );
    assert.throws(
      () => contextsOf({ a: [[Invoice, invoices]] }, [billed]),
      /Customer is of no context/,
    );
  });

  it('tell what a table takes that they only read', () => {
    const told = { encrypts: () => ['name'], storesLargeValues: true, writesMax: 40 };
    const table = readOnly(Object.assign(new MemoryTable(new MemoryRows()), told));
    const { encrypts, storesLargeValues, writesMax } = table;
    assert.deepEqual({ encrypts, storesLargeValues, writesMax }, told);
  });

  it('tell references to what is gone, and repair them where asked to', async () => {
    const { areas } = await world();
    const told: object[] = [];
    const alert = { onOrphan: ({ target }: { readonly target: object }) => void told.push(target) };
    const found = await areas.checkReferences({ ...later, ...alert });
    assert.deepEqual(found, {
      checked: 2,
      young: 0,
      orphans: 1,
      repaired: 0,
      remaining: 1,
      unreadable: 0,
    });
    assert.deepEqual(told, [{ id: 2 }]);
    const mended = await areas.checkReferences({ ...later, repair: true });
    assert.deepEqual(mended, {
      checked: 2,
      young: 0,
      orphans: 1,
      repaired: 1,
      remaining: 0,
      unreadable: 0,
    });
    const last = await areas.checkReferences(later);
    assert.deepEqual(last, {
      checked: 1,
      young: 0,
      orphans: 0,
      repaired: 0,
      remaining: 0,
      unreadable: 0,
    });
  });

  it('tell rows that cannot be read, and look at the others', async () => {
    const { areas, customers, invoices } = await world();
    await entitiesOf(Invoice, invoices).insert({ year: 2024, id: 8, customer: 1 });
    const wrong = { type: 'Boolean', value: true } as const;
    const invoice = { partitionKey: '2024', rowKey: '000000', properties: { customer: wrong } };
    await invoices.write({ kind: 'merge', row: invoice, etag: '*' });
    const customer = { partitionKey: '000001', rowKey: 'customer', properties: { name: wrong } };
    await customers.write({ kind: 'merge', row: customer, etag: '*' });
    const told: string[] = [];
    const found = await areas.checkReferences({
      ...later,
      repair: true,
      onUnreadable: ({ rowKey, error }) => void told.push(`${rowKey} ${error.name}`),
    });
    assert.deepEqual(found, {
      checked: 2,
      young: 0,
      orphans: 1,
      repaired: 1,
      remaining: 0,
      unreadable: 2,
    });
    assert.deepEqual(told.sort(), ['000000 DecodeError', 'customer DecodeError']);
  });

  it('leave alone what was written before the target that is on its way', async () => {
    const { areas, customers, invoices } = await world();
    const now = { clock: manualClock(Date.now() * 1000), repair: true };
    const found = await areas.checkReferences(now);
    assert.deepEqual(found, {
      checked: 0,
      young: 3,
      orphans: 0,
      repaired: 0,
      remaining: 0,
      unreadable: 0,
    });
    await entitiesOf(Customer, customers).insert({ id: 2, name: 'Fabrikam' });
    const after = await areas.checkReferences({ ...later, repair: true });
    assert.deepEqual(after, {
      checked: 2,
      young: 0,
      orphans: 0,
      repaired: 0,
      remaining: 0,
      unreadable: 0,
    });
    assert.equal((await invoices.page({})).rows.length, 3);
    await assert.rejects(areas.checkReferences({ graceMs: -1 }), ValueError);
  });

  for (const [what, repair, ended] of [
    ['has done nothing', () => Promise.resolve(), { repaired: 0, remaining: 1 }],
    ['has chosen another that is missing', 3, { repaired: 0, remaining: 1 }],
    ['has chosen one that is there', 1, { repaired: 1, remaining: 0 }],
    ['has chosen none', undefined, { repaired: 1, remaining: 0 }],
  ] as const) {
    it(`count an orphan as repaired when it is none any more: its repair ${what}`, async () => {
      const { customers, invoices } = await world();
      const entities = entitiesOf(Invoice, invoices);
      const keyOf = ({ customer }: { readonly customer?: number | undefined }) =>
        customer === undefined ? undefined : { id: customer };
      const mend =
        typeof repair === 'function'
          ? repair
          : async ({ year, id }: { readonly year: number; readonly id: number }) => {
              await entities.update({ year, id }, (found) => ({ ...found, customer: repair }));
            };
      const areas = contextsOf(
        { customers: [[Customer, customers]], billing: [[Invoice, invoices]] },
        [contextReference('invoice to customer', Invoice, Customer, keyOf, mend)],
      );
      const found = await areas.checkReferences({ ...later, repair: true });
      assert.deepEqual(found, { checked: 2, young: 0, orphans: 1, ...ended, unreadable: 0 });
    });
  }

  it('count no orphan that others have ended as repaired', async () => {
    const { areas, invoices } = await world();
    const entities = entitiesOf(Invoice, invoices);
    const onOrphan = async (): Promise<void> =>
      void (await entities.deleteIfExists({ year: 2024, id: 1 }));
    const found = await areas.checkReferences({ ...later, repair: true, onOrphan });
    const ended = { repaired: 0, remaining: 0 };
    assert.deepEqual(found, { checked: 2, young: 0, orphans: 1, ...ended, unreadable: 0 });
  });

  it('do not repair what was changed since it was read', async () => {
    const { areas, invoices } = await world();
    const entities = entitiesOf(Invoice, invoices);
    const found = await areas.checkReferences({
      ...later,
      repair: true,
      onOrphan: async () => {
        await entities.merge({ year: 2024, id: 1 }, { customer: 1 }, { ifMatch: 'any' });
      },
    });
    assert.deepEqual(found, {
      checked: 2,
      young: 0,
      orphans: 1,
      repaired: 0,
      remaining: 0,
      unreadable: 0,
    });
    assert.equal((await entities.get({ year: 2024, id: 1 }))?.customer, 1);
  });

  it('send orphans to a queue, with one id for each, and no value but keys', async () => {
    const { areas } = await world();
    const texts: string[] = [];
    const orphansTo: SendingQueue = {
      name: 'orphans',
      sendMessage: (text) => {
        texts.push(text);
        return Promise.resolve({ messageId: '', popReceipt: '' });
      },
    };
    for (let times = 0; times < 2; times += 1) await areas.checkReferences({ ...later, orphansTo });
    assert.equal(texts.length, 2);
    assert.equal(texts[0], texts[1]);
    const decoded = decodeEnvelope(texts[0] ?? '');
    assert.ok(decoded.kind === 'envelope');
    const { envelope } = decoded;
    assert.deepEqual(await readPayload(OrphanMessage, envelope), {
      reference: 'invoice to customer',
      from: { type: 'Invoice', partitionKey: '2024', rowKey: '000001' },
      to: { type: 'Customer', partitionKey: '000002', rowKey: 'customer' },
    });
    const other = { ...envelope, payload: { reference: 'it' } };
    await assert.rejects(readPayload(OrphanMessage, other), MalformedMessageError);
  });

  it('are checked from where a check was stopped', costly(), async () => {
    const { customers } = await world();
    const rows = new MemoryTable(new MemoryRows());
    const entities = entitiesOf(Invoice, rows);
    for (let id = 0; id < 1100; id += 1) {
      await entities.insert({ year: 2024, id, customer: id % 100 === 0 ? 2 : undefined });
    }
    const to = (name: string) =>
      contextReference(name, Invoice, Customer, ({ customer: id }) =>
        id === undefined ? undefined : { id },
      );
    const areas = contextsOf({ customers: [[Customer, customers]], billing: [[Invoice, rows]] }, [
      to('buyer'),
      to('payer'),
    ]);
    const told: number[] = [];
    const cursors: string[] = [];
    const check = async (from: string | undefined): Promise<ReferenceReport> => {
      const stop = new AbortController();
      return areas.checkReferences({
        ...later,
        ...(from === undefined ? {} : { from }),
        signal: stop.signal,
        onOrphan: ({ entity }) => void told.push(Number(rowKeyOf(entity).rowKey)),
        onCursor: (cursor) => {
          cursors.push(cursor);
          stop.abort(new Error('killed'));
        },
      });
    };
    for (let runs = 1; runs < 6; runs += 1) {
      await assert.rejects(check(cursors.at(-1)), /killed/);
      assert.equal(cursors.length, runs);
    }
    assert.deepEqual(await check(cursors.at(-1)), {
      checked: 1,
      young: 0,
      orphans: 1,
      repaired: 0,
      remaining: 1,
      unreadable: 0,
    });
    const all = Array.from({ length: 11 }, (_, at) => at * 100);
    assert.deepEqual(
      told.toSorted((left, right) => left - right),
      all.flatMap((id) => [id, id]),
    );
    for (const from of ['', 'x', Buffer.from('["seller",""]').toString('base64url')]) {
      await assert.rejects(areas.checkReferences({ from }), ValueError);
    }
    assert.throws(
      () => contextsOf({ all: [[Invoice, rows]] }, [to('a'), to('a')]),
      /of no context/,
    );
    const one = { all: [[Customer, customers] as const, [Invoice, rows] as const] };
    assert.throws(() => contextsOf(one, [to('a'), to('a')]), /two references are named 'a'/);
  });
});
