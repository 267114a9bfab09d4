import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import {
  copiesOf,
  defineEntity,
  entitiesOf,
  int32,
  key,
  string,
  transaction,
  type TableGateway,
} from '../../src/modeling/index.js';
import { eventViewOf } from '../../src/modeling/patterns/materialised-views/index.js';
import {
  knownPartitions,
  outboxOf,
  relayOf,
  toHandlers,
} from '../../src/modeling/patterns/transactional-outbox/index.js';
import { defineMessage, handle, keyPayload } from '../../src/modeling/worker/index.js';
import { crashEverywhere, type Doomed } from './support/crash-points.js';
import { startTables } from './support/observed-tables.js';
import { costly } from '../support/run-length.js';

// Views and copies in other tables, updated by messages of the transactional outbox.

const started = await startTables();
after(() => started[Symbol.asyncDispose]());

const ShopOrder = defineEntity({
  type: 'Order',
  properties: { shop: string(), id: int32(), customer: string() },
  partitionKey: (p) => key`${p.shop}`,
  rowKey: (p) => key`order_${p.id.padded(6)}`,
});
const Shop = defineEntity({
  type: 'Shop',
  properties: { shop: string(), orders: int32().default(0), lastCustomer: string().optional() },
  partitionKey: (p) => key`${p.shop}`,
  rowKey: () => key`shop`,
});
const Receipt = defineEntity({
  type: 'Receipt',
  properties: { shop: string(), id: int32(), customer: string().optional() },
  partitionKey: (p) => key`${p.shop}`,
  rowKey: (p) => key`${p.id.padded(6)}`,
});
const Ordered = defineMessage('ordered', { payload: keyPayload(ShopOrder) });

interface World {
  readonly orders: TableGateway;
  readonly views: TableGateway;
}

const shop = 'lamps';
const registry = knownPartitions([shop]);

async function place({ orders }: World, id: number): Promise<void> {
  const outbox = outboxOf({ table: orders, registry });
  const message = await outbox.message(shop, Ordered, { shop, id });
  const { writes } = transaction(orders).insert(ShopOrder, {
    shop,
    id,
    customer: `customer ${id}`,
  });
  await outbox.transact(writes, [message]);
}

async function relay({ orders, views }: World): Promise<void> {
  const shops = eventViewOf(Shop, views, { attemptsMax: 500 });
  const receipts = copiesOf({
    source: ShopOrder,
    sourceTable: orders,
    target: Receipt,
    targetTable: views,
    sourceOf: ({ id }) => ({ shop, id }),
    targetsOf: ({ id }) => [{ shop, id }],
    copy: (order) => ({ customer: order?.customer }),
  });
  const count = handle(Ordered, async ({ id }, context) => {
    await receipts.refresh({ shop, id });
    await shops.apply(context.id, { shop }, (current) => ({
      shop,
      orders: (current?.orders ?? 0) + 1,
    }));
  });
  const dispatch = toHandlers([count]);
  await relayOf({ table: orders, registry, dispatch }).partition(shop);
}

async function prepare(): Promise<World> {
  const world = {
    orders: (await started.newTable()).gateway,
    views: (await started.newTable()).gateway,
  };
  for (const id of [1, 2]) await entitiesOf(Receipt, world.views).insert({ shop, id });
  return world;
}

const doomedWorld = ({ orders, views }: World, doomed: Doomed): World => ({
  orders: doomed.wrap(orders),
  views: doomed.wrap(views),
});

/** Checks that every stored order is counted once and copied. */
async function check({ orders, views }: World): Promise<void> {
  const stored = await entitiesOf(ShopOrder, orders)
    .query({ partition: { shop } })
    .toArray({ max: 100 });
  const view = await entitiesOf(Shop, views).get({ shop });
  assert.equal(view?.orders ?? 0, stored.length);
  for (const { id, customer } of stored) {
    const receipt = await entitiesOf(Receipt, views).get({ shop, id });
    assert.equal(receipt === undefined ? customer : receipt.customer, customer);
  }
}

describe('views by the outbox', () => {
  it(
    'count and copy each order once, wherever a crash or a lost answer hits',
    costly(),
    async () => {
      const requests = await crashEverywhere<World>({
        prepare,
        run: async (world, doomed) => {
          const mortal = doomedWorld(world, doomed);
          await place(mortal, 1);
          await relay(mortal);
        },
        recover: (world, doomed) => relay(doomedWorld(world, doomed)),
        crashRecovery: true,
        check,
      });
      assert.ok(requests.length >= 7, requests.join(' '));
    },
  );

  it('count each order once though 4 relay them at the same time', costly(), async () => {
    const world = await prepare();
    for (let id = 1; id <= 6; id += 1) await place(world, id);
    const relays = await Promise.allSettled(Array.from({ length: 4 }, () => relay(world)));
    assert.ok(relays.some(({ status }) => status === 'fulfilled'));
    await relay(world);
    await check(world);
    assert.equal((await entitiesOf(Shop, world.views).get({ shop }))?.orders, 6);
  });
});
