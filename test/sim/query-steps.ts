import assert from 'node:assert/strict';
import type { SimRandom } from '../support/sim-random.js';
import type { WireResponse } from '../wire/kit/response.js';
import { listItems, objectMembers } from './exact-json.js';
import { anyFilter, filterText, matches, type SimFilter } from './filters.js';
import { anyTarget, writeEntity } from './entity-steps.js';
import { runGroup } from './group-steps.js';
import {
  compareEntities,
  entityStamp,
  refusal,
  type ModelEntity,
  type ModelTable,
} from './model.js';
import {
  assertEntity,
  assertRefused,
  assertSelected,
  parseBody,
  partitionKeys,
  propertyNames,
  rowKeys,
  type World,
} from './world.js';

interface SimQuery {
  readonly filter: SimFilter | undefined;
  readonly text: string | undefined;
  readonly top: number | undefined;
  readonly select: readonly string[] | undefined;
}

type Position = Pick<ModelEntity, 'partitionKey' | 'rowKey'>;

const pagesMax = 2000;

/** A query from first to last page, with writes between the pages. */
export async function runQuery(world: World): Promise<void> {
  const { random } = world;
  const { name, table } = anyTarget(world);
  if (random.chance(0.02)) return refusedQuery(world, name);
  const query = anyQuery(world, table);
  if (table === undefined) {
    const response = await world.send({ path: urlOf(name, query, undefined, random) });
    return assertRefused(response, refusal(404, 'TableNotFound'));
  }
  const before = table.sorted().filter((entity) => isWanted(query, entity));
  const writesBetween = random.chance(0.4);
  const seen: ModelEntity[] = [];
  let from: Position | undefined;
  for (let pages = 0; ; pages += 1) {
    assert.ok(pages < pagesMax, 'the continuation goes on for ever');
    const response = await world.send({ path: urlOf(name, query, from, random) });
    seen.push(...checkPage(response, table, query, from));
    from = nextOf(response);
    if (from === undefined) break;
    if (!writesBetween) continue;
    for (let writes = random.int(3); writes > 0; writes -= 1) await writeBetween(world);
    // A write between pages may have dropped the table, or dropped and created it again.
    if (world.account.find(name) !== table) return;
  }
  if (query.top === 0) return;
  const after = new Set(table.values());
  const unchanged = before.filter((entity) => after.has(entity));
  const seenUnchanged = seen.filter((entity) => unchanged.includes(entity));
  assert.deepEqual(seenUnchanged.map(keysOf), unchanged.map(keysOf), 'exactly once and in order');
}

function writeBetween(world: World): Promise<void> {
  return world.random.chance(0.8) ? writeEntity(world) : runGroup(world);
}

function anyQuery(world: World, table: ModelTable | undefined): SimQuery {
  const { random } = world;
  const entities = table?.values() ?? [];
  const stamps = entities.slice(0, 20).map(entityStamp);
  const names = propertyNames;
  const pools = { partitionKeys, rowKeys, names, stamps };
  const filter = random.chance(0.85) ? anyFilter(random, pools) : undefined;
  const emptyText = random.chance(0.3) ? ' ' : undefined;
  const selectable = [...names, 'PartitionKey', 'RowKey', 'Timestamp', 'missing'];
  const count = random.between(1, 5);
  return {
    filter,
    text: filter === undefined ? emptyText : filterText(random, filter),
    top: random.chance(0.5) ? random.pick([0, 1, 2, 3, 7, 50, 1000]) : undefined,
    select: random.chance(0.2)
      ? [...new Set(Array.from({ length: count }, () => random.pick(selectable)))]
      : undefined,
  };
}

function urlOf(
  name: string,
  { text, top, select }: SimQuery,
  from: Position | undefined,
  random: SimRandom,
): string {
  const dollar = random.chance(0.1) ? '%24' : '$';
  const options: string[] = [];
  if (text !== undefined) {
    const encoded = encodeURIComponent(text);
    options.push(
      `${dollar}filter=${random.chance(0.2) ? encoded.replaceAll('%20', '+') : encoded}`,
    );
  }
  if (top !== undefined) options.push(`${dollar}top=${top}`);
  if (select !== undefined) options.push(`${dollar}select=${encodeURIComponent(select.join(','))}`);
  if (from !== undefined) {
    options.push(`NextPartitionKey=${encodeURIComponent(tokenOf(from.partitionKey))}`);
    options.push(`NextRowKey=${encodeURIComponent(tokenOf(from.rowKey))}`);
  }
  return `/${name}${random.chance(0.5) ? '()' : ''}?${options.join('&')}`;
}

/** Base64 of UTF-8 with a special alphabet and a leading length (table-service §6). */
function tokenOf(key: string): string {
  const text = Buffer.from(key).toString('base64');
  return `1!${text.length}!${text.replaceAll('+', '*').replaceAll('/', '_').replaceAll('=', '-')}`;
}

function keyOfToken(token: string): string {
  const [, length, text = ''] = /^1!(\d+)!([A-Za-z0-9*_-]*)$/.exec(token) ?? [];
  assert.equal(Number(length), text.length, `token ${token}`);
  const base64 = text.replaceAll('*', '+').replaceAll('_', '/').replaceAll('-', '=');
  return Buffer.from(base64, 'base64').toString();
}

function nextOf(response: WireResponse): Position | undefined {
  const partitionKey = response.header('x-ms-continuation-NextPartitionKey');
  const rowKey = response.header('x-ms-continuation-NextRowKey');
  assert.equal(partitionKey === undefined, rowKey === undefined, 'both tokens or none');
  if (partitionKey === undefined || rowKey === undefined) return undefined;
  return { partitionKey: keyOfToken(partitionKey), rowKey: keyOfToken(rowKey) };
}

function isWanted({ filter }: SimQuery, entity: ModelEntity): boolean {
  return filter === undefined || matches(filter, entity);
}

/**
 * Checks that a page has the current content of the table: the first matching entities from `from`
 * on, and a token exactly where the protocol allows it. Returns the entities.
 */
function checkPage(
  response: WireResponse,
  table: ModelTable,
  query: SimQuery,
  from: Position | undefined,
): ModelEntity[] {
  assert.equal(response.status, 200, response.text);
  const items = listItems(objectMembers(parseBody(response)).get('value'));
  const top = query.top ?? 1000;
  assert.ok(items.length <= top, 'no more than $top');
  const rest = table
    .sorted()
    .filter((entity) => from === undefined || compareEntities(entity, from) >= 0)
    .filter((entity) => isWanted(query, entity));
  const page = rest.slice(0, items.length);
  assert.equal(page.length, items.length, `the page has ${items.length}, the table ${rest.length}`);
  for (const [index, entity] of page.entries()) {
    const item = items[index];
    assert.ok(item);
    if (query.select === undefined) assertEntity(item, entity);
    else assertSelected(item, entity, query.select);
  }
  const next = nextOf(response);
  const missed = rest[items.length];
  if (top === 0) {
    assert.equal(next, undefined);
  } else if (next === undefined) {
    assert.equal(missed, undefined, `no token, but ${JSON.stringify(missed?.rowKey)} is missing`);
  } else {
    const last = page.at(-1);
    assert.ok(last === undefined || compareEntities(next, last) > 0, 'the token goes back');
    assert.ok(missed === undefined || compareEntities(next, missed) <= 0, 'the token skips one');
    assert.ok(query.filter !== undefined || missed !== undefined, 'a token where nothing follows');
  }
  return page;
}

async function refusedQuery(world: World, name: string): Promise<void> {
  const [options = '', status = 0, code = ''] = world.random.pick([
    ['$top=1001', 400, 'InvalidInput'],
    ['$top=-1', 400, 'InvalidInput'],
    ['$filter=n%20eq', 400, 'InvalidInput'],
    ['$filter=n%20eq%20null', 400, 'InvalidInput'],
    ['$filter=PartitionKey%20eq%205', 400, 'InvalidInput'],
    ['$filter=PartitionKey%20and%20n%20eq%205', 400, 'InvalidInput'],
    ['$filter=n%20eq%20flag', 501, 'NotImplemented'],
    ['$orderby=n', 501, 'NotImplemented'],
    ['NextPartitionKey=rubbish', 400, 'InvalidInput'],
  ] as const);
  const response = await world.send({ path: `/${name}()?${options}` });
  assertRefused(response, refusal(status, code));
}

function keysOf({ partitionKey, rowKey }: ModelEntity): string {
  return JSON.stringify([partitionKey, rowKey]);
}
