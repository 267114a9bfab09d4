import assert from 'node:assert/strict';
import { listItems, objectMembers } from './exact-json.js';
import { compare, refusal } from './model.js';
import { assertRefused, parseBody, respelled, tableNames, type World } from './world.js';

const badTableNames = [
  'tables',
  'Tables',
  'TABLES',
  'ab',
  'x'.repeat(64),
  '1abc',
  'a-b-c',
  'a_bc',
  'naïve',
];

export async function createTable(world: World): Promise<void> {
  const { random, account } = world;
  const name = random.chance(0.15) ? random.pick(badTableNames) : random.pick(tableNames);
  const quiet = random.chance(0.5);
  const expected = account.createRefusal(name);
  const response = await world.send({
    method: 'POST',
    path: random.chance(0.5) ? '/Tables' : '/Tables()',
    body: JSON.stringify({ TableName: name }),
    headers: quiet ? { Prefer: 'return-no-content' } : {},
  });
  if (expected !== undefined) return assertRefused(response, expected);
  assert.equal(response.status, quiet ? 204 : 201);
  if (!quiet) assert.equal(response.json['TableName'], name);
  account.create(name);
}

export async function dropTable(world: World): Promise<void> {
  const { random, account } = world;
  const name = respelled(random, random.pick(tableNames));
  const exists = account.find(name) !== undefined;
  const response = await world.send({ method: 'DELETE', path: `/Tables('${name}')` });
  if (!exists) return assertRefused(response, refusal(404, 'ResourceNotFound'));
  assert.equal(response.status, 204);
  account.drop(name);
}

export async function getTable(world: World): Promise<void> {
  const { random, account } = world;
  const name = respelled(random, random.pick(tableNames));
  const table = account.find(name);
  const response = await world.send({ path: `/Tables('${name}')` });
  if (table === undefined) return assertRefused(response, refusal(404, 'ResourceNotFound'));
  assert.equal(response.status, 200);
  assert.equal(response.json['TableName'], table.name);
}

/** Lists the tables, page by page, with or without a range of names. */
export async function listTables(world: World): Promise<void> {
  const { random, account } = world;
  const bound = random.pick(tableNames).toLowerCase();
  const hasFilter = random.chance(0.3);
  const expected = account
    .sorted()
    .map(({ name }) => name)
    .filter((name) => !hasFilter || compare(name.toLowerCase(), bound) >= 0);
  const options = [
    ...(hasFilter ? [`$filter=${encodeURIComponent(`TableName ge '${bound}'`)}`] : []),
    ...(random.chance(0.5) ? [`$top=${random.between(1, 4)}`] : []),
  ];
  const names: string[] = [];
  let next: string | undefined;
  do {
    const token = next === undefined ? [] : [`NextTableName=${encodeURIComponent(next)}`];
    const response = await world.send({ path: `/Tables?${[...options, ...token].join('&')}` });
    assert.equal(response.status, 200);
    for (const item of listItems(objectMembers(parseBody(response)).get('value'))) {
      const name = objectMembers(item).get('TableName');
      assert.ok(name?.kind === 'string');
      names.push(name.value);
    }
    next = response.header('x-ms-continuation-NextTableName');
  } while (next !== undefined);
  assert.deepEqual(names, expected);
}
