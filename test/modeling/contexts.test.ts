import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { defineEntity, entitiesOf, int32, key, string } from '../../src/modeling/index.js';
import {
  contextReference,
  contextsOf,
  readOnly,
  ReadOnlyContextError,
} from '../../src/modeling/patterns/contexts/index.js';
import { startTables } from './support/observed-tables.js';

const [one, other] = [await startTables({ inMemory: true }), await startTables({ inMemory: true })];
after(() => Promise.all([one, other].map((each) => each[Symbol.asyncDispose]())));

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

  it('tell references to what is gone, and repair them where asked to', async () => {
    const { areas } = await world();
    const told: object[] = [];
    const alert = { onOrphan: ({ target }: { readonly target: object }) => void told.push(target) };
    const found = await areas.checkReferences(alert);
    assert.deepEqual(found, { checked: 2, orphans: 1, repaired: 0 });
    assert.deepEqual(told, [{ id: 2 }]);
    const mended = await areas.checkReferences({ repair: true });
    assert.deepEqual(mended, { checked: 2, orphans: 1, repaired: 1 });
    assert.deepEqual(await areas.checkReferences(), { checked: 1, orphans: 0, repaired: 0 });
  });
});
