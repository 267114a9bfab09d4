import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import {
  dateTime,
  defineEntity,
  double,
  embedded,
  entitiesOf,
  int32,
  int64,
  key,
  plain,
  string,
  ValueError,
  type RowPage,
  type RowProperties,
  type RowQuery,
  type TableGateway,
  type UnreadableRow,
} from '../../src/modeling/index.js';
import { startTables } from './support/observed-tables.js';
import { asEmployee, numbered } from './support/employees.js';
import { costly } from '../support/run-length.js';

const tables = await startTables();
after(() => tables[Symbol.asyncDispose]());

const AddressedEmployee = defineEntity({
  ...asEmployee,
  properties: {
    ...numbered,
    lastName: string().named('LastName'),
    age: int32().optional(),
    salary: double().optional(),
    badge: int64().optional(),
    hiredAt: dateTime().optional(),
    address: embedded({ city: string(), zip: string().optional() }).optional(),
  },
});

const ByMail = defineEntity({
  type: 'EmployeeByMail',
  properties: { department: string(), email: string(), id: int32() },
  partitionKey: (p) => key`${p.department}`,
  rowKey: (p) => key`email_${p.email}`,
});

const Review = defineEntity({
  type: 'Review',
  properties: {
    department: string(),
    id: int32(),
    year: int32(),
    managerRating: int32().named('Manager Rating'),
  },
  partitionKey: (p) => key`${p.department}`,
  rowKey: (p) => key`${p.id.padded(6)}_${p.year.padded(4)}`,
});

const ByTown = defineEntity({
  type: 'CustomerByTown',
  properties: { shard: int32(), town: string(), lastName: string() },
  partitionKey: (p) => key`${p.shard.padded(2)}`,
  rowKey: (p) => key`${p.town}_${p.lastName}`,
});

/** A gateway that shortens pages and inserts empty ones with a cursor. */
function withRaggedPages(inner: TableGateway): TableGateway {
  let turn = 0;
  return {
    table: inner.table,
    get: (...args) => inner.get(...args),
    write: (write) => inner.write(write),
    transact: (writes) => inner.transact(writes),
    async page(query: RowQuery): Promise<RowPage> {
      turn += 1;
      if (turn % 2 === 1) return { rows: [], cursor: query.cursor ?? 'start' };
      const { cursor, ...rest } = query;
      const given = cursor === undefined || cursor === 'start' ? rest : query;
      return inner.page({ ...given, limit: Math.min(query.limit ?? 1000, 2) });
    },
  };
}

async function newSales() {
  const table = await tables.newTable();
  const employees = entitiesOf(AddressedEmployee, table.gateway);
  for (let id = 1; id <= 7; id++) {
    await employees.insert({
      department: 'Sales',
      id,
      lastName: id % 2 === 0 ? 'Smith' : 'Jones',
      age: 20 + id,
      address: { city: `City ${id}` },
    });
  }
  await entitiesOf(ByMail, table.gateway).insert({ department: 'Sales', email: 'a@b', id: 1 });
  table.takeKinds();
  return { ...table, employees };
}

const ids = (found: readonly { readonly id: number }[]) => found.map(({ id }) => id);

describe('the plan of a query', () => {
  const employees = entitiesOf(AddressedEmployee, { ...tables.gatewayOfNothing });
  const reviews = entitiesOf(Review, { ...tables.gatewayOfNothing });
  const byMail = entitiesOf(ByMail, { ...tables.gatewayOfNothing });
  const byTown = entitiesOf(ByTown, { ...tables.gatewayOfNothing });
  const sales = { department: 'Sales' };
  const planned = (query: { readonly plan: { class: string; filters: readonly string[] } }) => [
    query.plan.class,
    ...query.plan.filters,
  ];

  it('is a point for whole keys', () => {
    assert.deepEqual(planned(employees.query({ partition: sales, prefix: { id: 2 } })), [
      'point',
      "PartitionKey eq 'Sales' and RowKey eq 'empid_000002'",
    ]);
    assert.deepEqual(planned(byMail.query({ partition: sales, prefix: { email: "o'neil@b" } })), [
      'point',
      "PartitionKey eq 'Sales' and RowKey eq 'email_o''neil@b'",
    ]);
  });

  it('is a range between leading values, as the design guide writes it', () => {
    assert.deepEqual(
      planned(
        employees.query({ partition: sales, rowKeyFrom: { id: 100 }, rowKeyTo: { id: 199 } }),
      ),
      [
        'range',
        "PartitionKey eq 'Sales' and RowKey ge 'empid_000100' and RowKey le 'empid_000199'",
      ],
    );
    assert.deepEqual(
      planned(
        byMail.query({
          partition: sales,
          rowKeyFrom: { email: 'a' },
          rowKeyBefore: { email: 'b' },
        }),
      ),
      ['range', "PartitionKey eq 'Sales' and RowKey ge 'email_a' and RowKey lt 'email_b'"],
    );
    assert.deepEqual(
      planned(
        reviews.query({ partition: sales, rowKeyFrom: { id: 123 }, rowKeyBefore: { id: 124 } }),
      ),
      ['range', "PartitionKey eq 'Sales' and RowKey ge '000123' and RowKey lt '000124'"],
    );
    assert.deepEqual(planned(reviews.query({ partition: sales, prefix: { id: 123 } })), [
      'range',
      "PartitionKey eq 'Sales' and RowKey ge '000123_' and RowKey lt '000123`'",
    ]);
    assert.deepEqual(planned(employees.query({ partition: sales, rowKeyFrom: { id: 5 } })), [
      'range',
      "PartitionKey eq 'Sales' and RowKey ge 'empid_000005' and RowKey lt 'empid`'",
    ]);
    assert.deepEqual(
      planned(
        byTown.query({ partition: { shard: 1 }, prefix: { town: 'Redmond' }, startsWith: 'Sm' }),
      ),
      ['range', "PartitionKey eq '01' and RowKey ge 'Redmond_Sm' and RowKey lt 'Redmond_Sm\uffee'"],
    );
    assert.throws(
      () => byTown.query({ partition: { shard: 1 }, prefix: {}, rowKeyFrom: { town: 'A' } }),
      ValueError,
    );
    assert.throws(
      () => employees.query({ partition: sales, startsWith: '00' }),
      /next part is text/,
    );
  });

  it('is a partition scan with nothing but a condition', () => {
    assert.deepEqual(
      planned(employees.query({ partition: sales, where: (p) => p.lastName.eq('Smith') })),
      [
        'partition-scan',
        "PartitionKey eq 'Sales' and RowKey ge 'empid_' and RowKey lt 'empid`' and LastName eq 'Smith'",
      ],
    );
    assert.deepEqual(planned(reviews.query({ partition: sales })), [
      'partition-scan',
      "PartitionKey eq 'Sales'",
    ]);
  });

  it('is a table scan only where one is asked for', () => {
    assert.deepEqual(planned(reviews.scanTable({ where: (p) => p.managerRating.gt(3) })), [
      'table-scan',
      'Manager_x0020_Rating gt 3',
    ]);
    assert.deepEqual(planned(employees.scanTable()), [
      'table-scan',
      "RowKey ge 'empid_' and RowKey lt 'empid`'",
    ]);
    assert.deepEqual(planned(employees.scanTable({ partitionPrefix: { department: 'HR' } })), [
      'partition-scan',
      "PartitionKey eq 'HR' and RowKey ge 'empid_' and RowKey lt 'empid`'",
    ]);
  });

  it('scans a range of partitions', () => {
    const rowKeys = "RowKey ge 'empid_' and RowKey lt 'empid`'";
    const bounds = { partitionFrom: { department: 'B' }, partitionBefore: { department: 'S' } };
    assert.deepEqual(planned(employees.scanTable(bounds)), [
      'table-scan',
      `PartitionKey ge 'B' and PartitionKey lt 'S' and ${rowKeys}`,
    ]);
    assert.deepEqual(planned(employees.scanTable({ partitionTo: { department: 'HR' } })), [
      'table-scan',
      `PartitionKey le 'HR' and ${rowKeys}`,
    ]);
    const both = { ...bounds, partitionPrefix: { department: 'HR' } };
    assert.throws(() => employees.scanTable(both), /not both/);
  });

  it('says why a name cannot be in a condition, where the compiler has not', () => {
    const refusalOf = (names: readonly string[]) => {
      const where = (fields: object) =>
        names.reduce<unknown>((found, name) => Reflect.get(Object(found), name), fields);
      try {
        employees.query({ partition: sales, where: where as never });
      } catch (error) {
        return String(error);
      }
      return 'nothing';
    };
    assert.deepEqual([['department'], ['salery'], ['address', 'town']].map(refusalOf), [
      'DefinitionError: Employee.department cannot be in a filter: only the keys carry it: bound ' +
        'the query by them, or declare it stored()',
      "ValueError: Employee has no property 'salery'; did you mean 'salary'?",
      "ValueError: Employee.address has no property 'town'",
    ]);
  });

  it('writes conditions with the literals of their types', () => {
    const where = (text: string) => text.replace(/^.*?lt 'empid`' and /, '');
    const filterOf = (query: { readonly plan: { filters: readonly string[] } }) =>
      where(query.plan.filters[0] ?? '');
    const partition = sales;
    assert.equal(
      filterOf(
        employees.query({
          partition,
          where: (p) =>
            p.salary
              .ge(100)
              .or(p.badge.eq(5n), p.age.ne(3).and(p.lastName.startsWith('O')))
              .and(p.hiredAt.lt(new Date(0)), p.address.city.eq("L'Aquila").not()),
        }),
      ),
      "(salary ge 100.0 or badge eq 5L or (age ne 3 and LastName ge 'O' and LastName lt 'P')) and " +
        "hiredAt lt datetime'1970-01-01T00:00:00Z' and not (address_city eq 'L''Aquila')",
    );
    assert.equal(
      filterOf(employees.query({ partition, where: (p) => p.age.eq(1).or(p.age.eq(2)) })),
      '(age eq 1 or age eq 2)',
    );
    assert.throws(
      () => employees.query({ partition, where: (p) => p.age.eq(1.5) }),
      /a filter on age: 1.5 is no whole number/,
    );
    assert.throws(
      () => employees.query({ partition, where: (p) => p.salary.eq(NaN) }),
      /cannot be compared/,
    );
  });

  it('refuses a later part without the earlier ones', () => {
    const withoutId: { id: number } = { year: 2012 } as never;
    assert.throws(
      () => reviews.query({ partition: sales, prefix: withoutId }),
      /cannot have 'year' without 'id'/,
    );
  });
});

describe('a query', () => {
  it('finds entities of its type only, by keys and conditions', async () => {
    const { employees, takeKinds } = await newSales();
    const partition = { department: 'Sales' };
    assert.deepEqual(
      ids(await employees.query({ partition }).toArray({ max: 10 })),
      [1, 2, 3, 4, 5, 6, 7],
    );
    assert.deepEqual(takeKinds(), ['query']);
    const smiths = employees.query({
      partition,
      rowKeyFrom: { id: 3 },
      where: (p) => p.lastName.eq('Smith').and(p.address.city.ne('City 4')),
    });
    assert.equal(smiths.requests, 0);
    assert.deepEqual(ids(await smiths.toArray({ max: 10 })), [6]);
    assert.equal(smiths.requests, 1);
    await assert.rejects(employees.query({ partition }).toArray({ max: 6 }), /more than 6/);
    const named = await employees.query({ partition, select: ['lastName'] }).first(1);
    assert.deepEqual(named.map(plain), [{ department: 'Sales', id: 1, lastName: 'Jones' }]);
    assert.deepEqual(ids(await employees.scanTable().toArray({ max: 10 })).length, 7);
  });

  it('gives exactly as many as are asked for, across short and empty pages', async () => {
    const { gateway } = await newSales();
    const employees = entitiesOf(AddressedEmployee, withRaggedPages(gateway));
    const query = employees.query({ partition: { department: 'Sales' } });
    assert.deepEqual(ids(await query.first(5)), [1, 2, 3, 4, 5]);
    const all: number[] = [];
    for await (const { id } of query) all.push(id);
    assert.deepEqual(all, [1, 2, 3, 4, 5, 6, 7]);
  });

  it('goes on from a cursor that was stored', async () => {
    const { employees } = await newSales();
    const query = () => employees.query({ partition: { department: 'Sales' } });
    const first = await query().page({ limit: 3 });
    assert.deepEqual(ids(first.items), [1, 2, 3]);
    assert.ok(first.cursor !== undefined);
    const second = await query().page({ limit: 10, cursor: first.cursor });
    assert.deepEqual([ids(second.items), second.cursor], [[4, 5, 6, 7], undefined]);
    const other = employees.query({ partition: { department: 'HR' } });
    await assert.rejects(other.page({ cursor: first.cursor }), /another query/);
    await assert.rejects(other.page({ cursor: 'x' }), /no cursor/);
  });

  it('refuses a page without items before anything is sent', async () => {
    const employees = entitiesOf(AddressedEmployee, tables.gatewayOfNothing);
    const one = employees.query({ partition: { department: 'Sales' } });
    const many = employees.queryPartitions({ partitions: [{ department: 'Sales' }] });
    const { gateway } = await tables.newTable();
    for (const limit of [0, -1, 1.5, Number.NaN]) {
      await assert.rejects(one.page({ limit }), ValueError);
      await assert.rejects(many.page({ limit }), ValueError);
      await assert.rejects(gateway.page({ limit }), ValueError);
    }
    assert.deepEqual(await one.first(0), []);
  });

  it('ends when the service gives the same page for ever', async () => {
    const stuck = entitiesOf(AddressedEmployee, {
      ...tables.gatewayOfNothing,
      page: () => Promise.resolve({ rows: [], cursor: 'again' }),
    });
    await assert.rejects(
      stuck.query({ partition: { department: 'Sales' } }).first(1),
      /again and again/,
    );
  });

  it('reads many keys in their order, with a point read each', async () => {
    const { employees, takeKinds } = await newSales();
    const keys = [5, 99, 1].map((id) => ({ department: 'Sales', id }));
    const found = await employees.getMany(keys, { concurrency: 2 });
    assert.deepEqual(
      found.map((employee) => employee?.id),
      [5, undefined, 1],
    );
    assert.deepEqual(takeKinds(), ['point-read', 'point-read', 'point-read']);
  });
});

describe('a query of several partitions', () => {
  const towns = ['Redmond', 'Bothell', 'Yakima', 'Redmond', 'Bothell', 'Seattle'];

  async function newTowns(ragged = false) {
    const table = await tables.newTable();
    const gateway = ragged ? withRaggedPages(table.gateway) : table.gateway;
    const customers = entitiesOf(ByTown, gateway);
    const rows = Array.from({ length: 60 }, (_unused, index) => ({
      shard: (index * 7) % 5,
      town: towns[index % towns.length] ?? '',
      lastName: `Name${index % 11}`,
    }));
    for (const row of rows) await customers.upsertReplace(row);
    const byKey = new Map(rows.map((row) => [`${row.shard} ${row.town} ${row.lastName}`, row]));
    table.takeKinds();
    return { ...table, customers, rows: [...byKey.values()] };
  }

  const shards = [4, 2, 0, 1, 3, 2].map((shard) => ({ shard }));
  const text = (row: { shard: number; town: string; lastName: string }) =>
    `${row.shard} ${row.town}_${row.lastName}`;
  const byRowKey = (row: { shard: number; town: string; lastName: string }) =>
    `${row.town}_${row.lastName} ${row.shard}`;
  const sorted = (texts: readonly string[]) => [...texts].sort();

  it('gives one partition after the other, in key order', costly(), async () => {
    for (const isRagged of [false, true]) {
      const { customers, rows } = await newTowns(isRagged);
      const query = customers.queryPartitions({ partitions: shards, concurrency: 2 });
      assert.deepEqual((await query.toArray({ max: 100 })).map(text), sorted(rows.map(text)));
    }
  });

  it('merges partitions by their RowKeys', costly(), async () => {
    for (const isRagged of [false, true]) {
      const { customers, rows } = await newTowns(isRagged);
      const query = customers.queryPartitions({ partitions: shards, order: 'row-key' });
      assert.deepEqual(
        (await query.toArray({ max: 100 })).map(byRowKey),
        sorted(rows.map(byRowKey)),
      );
      assert.equal(query.plan.requestsMin, 6);
    }
  });

  it('pages through with cursors, in both orders, and sees each row once', async () => {
    const { customers, rows } = await newTowns();
    for (const order of ['key', 'row-key'] as const) {
      const show = order === 'key' ? text : byRowKey;
      const found: string[] = [];
      let cursor: string | undefined;
      do {
        const query = customers.queryPartitions({ partitions: shards, order });
        const page = await query.page(cursor === undefined ? { limit: 7 } : { limit: 7, cursor });
        assert.ok(page.items.length === 7 || page.cursor === undefined);
        found.push(...page.items.map(show));
        cursor = page.cursor;
      } while (cursor !== undefined);
      assert.deepEqual(found, sorted(rows.map(show)));
    }
  });

  it('reads no more than it needs for a few', async () => {
    const { customers, takeKinds } = await newTowns();
    const merged = customers.queryPartitions({ partitions: shards, order: 'row-key' });
    await merged.first(3);
    assert.equal(takeKinds().length, 5);
    assert.equal(merged.requests, 5);
    const chained = customers.queryPartitions({ partitions: shards, concurrency: 2 });
    await chained.first(3);
    assert.equal(chained.requests, 2);
  });
});

describe('a condition', () => {
  const FirstOrder = defineEntity({
    type: 'Order',
    properties: { shop: string(), id: int32(), price: int32() },
    partitionKey: (p) => key`${p.shop}`,
    rowKey: (p) => key`${p.id.padded(4)}`,
  });
  const UpgradedOrder = defineEntity({
    type: 'Order',
    version: 2,
    properties: {
      shop: string(),
      id: int32(),
      cents: int32(),
      state: string().default('open'),
      weight: double().default(1),
    },
    partitionKey: (p) => key`${p.shop}`,
    rowKey: (p) => key`${p.id.padded(4)}`,
  }).upgrading(FirstOrder, ({ price, ...order }) => {
    if (price < 0) throw new ValueError('no price');
    return { ...order, cents: price * 100 };
  });
  const shop = { shop: 's' };

  /** Orders 1 and 2 are of the first version; 3 lacks what has a default; 4 has other values. */
  async function newOrders() {
    const { gateway } = await tables.newTable();
    for (const id of [1, 2])
      await entitiesOf(FirstOrder, gateway).insert({ ...shop, id, price: id });
    const orders = entitiesOf(UpgradedOrder, gateway);
    const inserted = await orders.insert({ ...shop, id: 3, cents: 300 });
    const row = orders.codec.toRow(inserted);
    const { state: _state, weight: _weight, ...properties } = row.properties;
    await gateway.write({ kind: 'upsert-replace', row: { ...row, properties } });
    await orders.insert({ ...shop, id: 4, cents: 400, state: 'shut', weight: 2 });
    return { gateway, orders };
  }

  it('finds what reads give: defaults where a row lacks a value, older rows as upgraded', async () => {
    const { orders } = await newOrders();
    const all = await orders.query({ partition: shop }).toArray({ max: 9 });
    const conditions: readonly [
      NonNullable<Parameters<typeof orders.query>[0]['where']>,
      (order: (typeof all)[number]) => boolean,
    ][] = [
      [(p) => p.state.eq('open'), ({ state }) => state === 'open'],
      [(p) => p.state.eq('shut'), ({ state }) => state === 'shut'],
      [(p) => p.state.ne('open'), ({ state }) => state !== 'open'],
      [(p) => p.state.ne('open').not(), ({ state }) => state === 'open'],
      [(p) => p.state.gt('p'), ({ state }) => state > 'p'],
      [(p) => p.state.startsWith('o'), ({ state }) => state.startsWith('o')],
      [(p) => p.weight.lt(2), ({ weight }) => weight < 2],
      [(p) => p.weight.ge(2), ({ weight }) => weight >= 2],
      [(p) => p.cents.le(200), ({ cents }) => cents <= 200],
      [(p) => p.cents.gt(100).and(p.state.eq('open')), (o) => o.cents > 100 && o.state === 'open'],
      [(p) => p.cents.eq(100).or(p.state.eq('shut')), (o) => o.cents === 100 || o.state === 'shut'],
    ];
    for (const [where, holds] of conditions) {
      const expected = ids(all.filter(holds));
      const found = await orders.query({ partition: shop, where }).toArray({ max: 9 });
      assert.deepEqual(ids(found), expected, where.toString());
      const scanned = await orders.scanTable({ where, select: ['id'] }).toArray({ max: 9 });
      assert.deepEqual(ids(scanned), expected, where.toString());
    }
  });

  it('finds an older row whose upgrade has more properties than a row may have', async () => {
    const { gateway, orders } = await newOrders();
    const names = Array.from({ length: 250 }, (_, index) => `p${index}`);
    const text = { type: 'String', value: 'x' } as const;
    const properties: RowProperties = {
      ...Object.fromEntries(names.map((name) => [name, text])),
      EntityType: { type: 'String', value: 'Order' },
      price: { type: 'Int32', value: 9 },
    };
    await gateway.write({ kind: 'insert', row: { partitionKey: 's', rowKey: '0009', properties } });
    const query = orders.query({ partition: shop, where: (p) => p.cents.gt(400) });
    assert.deepEqual(ids(await query.toArray({ max: 9 })), [9]);
  });

  it('reports rows that cannot be read, and goes on, when it is asked to', async () => {
    const { gateway, orders } = await newOrders();
    await entitiesOf(FirstOrder, gateway).insert({ ...shop, id: 0, price: -1 });
    const EntityVersion = { type: 'Int32', value: 3 } as const;
    const newer = { partitionKey: 's', rowKey: '0005', properties: { EntityVersion } };
    await gateway.write({ kind: 'insert', row: newer });
    const query = { partition: shop, partitions: [shop] };
    await assert.rejects(orders.query(query).toArray({ max: 9 }), ValueError);
    const reported: UnreadableRow[] = [];
    const onUnreadable = (row: UnreadableRow): void => void reported.push(row);
    for (const run of [
      orders.query({ ...query, onUnreadable }),
      orders.queryPartitions({ ...query, onUnreadable }),
      orders.scanTable({ onUnreadable }),
    ]) {
      reported.length = 0;
      assert.deepEqual(ids(await run.toArray({ max: 9 })), [1, 2, 3, 4]);
      assert.deepEqual(
        reported.map(({ rowKey, error }) => [rowKey, error.name]),
        [
          ['0000', 'ValueError'],
          ['0005', 'DecodeError'],
        ],
      );
    }
  });
});
