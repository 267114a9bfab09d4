import {
  defineEntity,
  entitiesOf,
  int32,
  key,
  string,
  type TableGateway,
} from '../../../src/modeling/index.js';
import {
  reKeyingOf,
  type MovingEntities,
  type ReKeyingOptions,
  type ReKeying,
} from '../../../src/modeling/patterns/re-keying/index.js';

/** Orders keyed by customer, to be re-keyed by city. */
export const OrderByCustomer = defineEntity({
  type: 'Order',
  properties: {
    customer: string(),
    id: int32(),
    town: string(),
    amount: int32().default(0),
    note: string().optional(),
  },
  partitionKey: (p) => key`${p.customer}`,
  rowKey: (p) => key`${p.town}_${p.id.padded(4)}`,
});
export const OrderByCity = defineEntity({
  type: 'Order',
  version: 2,
  properties: {
    customer: string(),
    id: int32(),
    city: string(),
    amount: int32().default(0),
    note: string().optional(),
  },
  partitionKey: (p) => key`${p.city}`,
  rowKey: (p) => key`${p.id.padded(4)}_${p.customer}`,
});

export interface OrderAddress {
  readonly customer: string;
  readonly city: string;
  readonly id: number;
}

export type OrderMove = ReKeying<typeof OrderByCustomer, typeof OrderByCity, OrderAddress>;
export type MovingOrders = MovingEntities<typeof OrderByCustomer, typeof OrderByCity, OrderAddress>;

export interface OrderTables {
  readonly old: TableGateway;
  readonly new: TableGateway;
}

type Options = ReKeyingOptions<typeof OrderByCustomer, typeof OrderByCity, OrderAddress>;

export function moveOf(tables: OrderTables, options: Partial<Options> = {}): OrderMove {
  return reKeyingOf({
    name: 'orders by city',
    from: { definition: OrderByCustomer, table: tables.old },
    to: { definition: OrderByCity, table: tables.new },
    keys: ({ customer, city, id }) => ({
      old: { customer, town: city, id },
      new: { customer, city, id },
    }),
    forward: ({ town, ...order }) => ({ ...order, city: town }),
    backward: ({ city, ...order }) => ({ ...order, town: city }),
    refreshMs: 0,
    settleMs: 0,
    ...options,
  });
}

export function order(id: number, amount = 0) {
  return { customer: id % 2 === 0 ? 'contoso' : 'fabrikam', city: `c${id % 3}`, id, amount };
}

/** Runs all steps up to a phase, like a script that is run again after a crash. */
export async function stepsTo(
  move: OrderMove,
  to: 'dual-writing' | 'verifying' | 'reading-new' | 'done',
): Promise<void> {
  await move.start();
  if (to === 'dual-writing') return;
  await move.backfill();
  await move.verify();
  if (to === 'verifying') return;
  await move.cutOver();
  if (to === 'done') await move.finish();
}

/** Amounts by order id, on each side. */
export async function amountsOf({ old, new: next }: OrderTables) {
  const amounts = { old: new Map<number, number>(), new: new Map<number, number>() };
  for await (const each of entitiesOf(OrderByCustomer, old).scanTable()) {
    amounts.old.set(each.id, each.amount);
  }
  for await (const each of entitiesOf(OrderByCity, next).scanTable()) {
    amounts.new.set(each.id, each.amount);
  }
  return amounts;
}

/** Amounts by order id, from the query of the move. */
export async function queried(tables: OrderTables, move: OrderMove): Promise<Map<number, number>> {
  const found = new Map<number, number>();
  const orders = move.entities.query({
    old: () => entitiesOf(OrderByCustomer, tables.old).scanTable(),
    new: () => entitiesOf(OrderByCity, tables.new).scanTable(),
  });
  for await (const { id, amount } of orders) found.set(id, amount);
  return found;
}
