import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { byLength, costly } from '../../support/run-length.js';
import { manualClock, type ServerOptions } from '../../../src/app/index.js';
import { encodeToken } from '../../../src/wire/odata/continuation.js';
import { isInside } from '../../support/entity-ranges.js';
import { manualTimers } from '../../support/manual-timers.js';
import { numberSetting, seedSetting } from '../../support/sim-settings.js';
import { SimRandom } from '../../support/sim-random.js';
import { changesetBody, plainBatchBody, type Operation } from '../kit/batch.js';
import { acceptMinimal, entityPath, quoted, type WireClient } from '../kit/client.js';
import type { WireResponse } from '../kit/response.js';
import { tableSas, withSas, type SasParameters } from '../kit/sas.js';
import { startFixtureOf } from '../kit/server.js';

// Two servers that differ only in what the holder of a token must not see. Both must give
// byte-identical responses to anything that the holder sends, so that neither rows nor counts,
// tokens, plans, codes, etags or the order of errors reveal the difference.

const seed = seedSetting('TABULARIUM_ACCESS_SEED');
const requests = numberSetting('TABULARIUM_ACCESS_REQUESTS', byLength({ short: 40, long: 600 }));
const random = new SimRandom(seed);

interface Grant {
  readonly table: string;
  readonly bounds: readonly (string | undefined)[];
}

/** One table for each range, because everything outside of the range is hidden. */
const grants: readonly Grant[] = [
  { table: 'Middle', bounds: ['b', undefined, 'c'] },
  { table: 'Corners', bounds: ['b', '5', 'd', '5'] },
  { table: 'OneRow', bounds: ['c', '5', 'c', '5'] },
  { table: 'OpenEnd', bounds: ['c', '5'] },
  { table: 'OpenStart', bounds: [undefined, undefined, 'b', '5'] },
  { table: 'Nothing', bounds: ['d', undefined, 'b'] },
];
const partitions = ['', 'a', 'b', 'b ', 'c', 'd', 'e', '\u{1f600}', '\uffee'];
const rowKeys = ['', '1', '5', '5 ', '9'];
type Key = readonly [partitionKey: string, rowKey: string];

function mayTouch({ bounds }: Grant, [partitionKey, rowKey]: Key): boolean {
  const names = ['startPartitionKey', 'startRowKey', 'endPartitionKey', 'endRowKey'];
  const given = names.map((name, index) => [name, bounds[index]] as const);
  const range = Object.fromEntries(given.filter(([, bound]) => bound !== undefined));
  return isInside(range, partitionKey, rowKey);
}

const allKeys: readonly Key[] = partitions.flatMap((pk) => rowKeys.map((rk): Key => [pk, rk]));

/**
 * Makes the same number of commits in both worlds, so that common entities have the same versions.
 */
async function furnish(client: WireClient, world: 0 | 1): Promise<void> {
  const create = async (TableName: string): Promise<void> => {
    const body = JSON.stringify({ TableName });
    const { status, text } = await client.send({ method: 'POST', path: '/Tables', body });
    assert.equal(status, 201, text);
  };
  const policies = (id: string, permission: string): string =>
    `<SignedIdentifiers><SignedIdentifier><Id>${id}</Id><AccessPolicy><Permission>${permission}` +
    '</Permission></AccessPolicy></SignedIdentifier><SignedIdentifier><Id>known</Id><AccessPolicy>' +
    '<Permission>raud</Permission></AccessPolicy></SignedIdentifier></SignedIdentifiers>';
  await create(world === 0 ? 'Secret' : 'Hidden');
  const others = world === 0 ? 'Secret' : 'Hidden';
  await client.put(others, { PartitionKey: 'c', RowKey: '5', n: world });
  for (const grant of grants) {
    const { table } = grant;
    await create(table);
    const path = `/${table}?comp=acl`;
    const body = world === 0 ? policies('one', 'r') : policies('two', 'raud');
    const set = await client.send({ method: 'PUT', path, body });
    assert.equal(set.status, 204, set.text);
    const hidden: Key[] = [];
    for (const key of allKeys) {
      const [PartitionKey, RowKey] = key;
      if (!mayTouch(grant, key)) hidden.push(key);
      else if ((PartitionKey.length + RowKey.length) % 2 === 0) {
        await client.put(table, { PartitionKey, RowKey, n: 1, text: 'seen' });
      }
    }
    for (const [index, [PartitionKey, RowKey]] of hidden.entries()) {
      if (index % 2 !== world) continue;
      await client.put(table, { PartitionKey, RowKey, n: world + 2, text: 'hidden' });
    }
    if (hidden.length % 2 === 1 && world === 1) await client.put(others, filler(table));
  }
}

const filler = (RowKey: string): object => ({ PartitionKey: 'filler', RowKey });

const startMicros = Date.now() * 1000;

/**
 * Nothing is written but by requests: metrics of one minute would change the versions of a world.
 */
async function startWorld(
  t: TestContext,
  world: 0 | 1,
  options: ServerOptions,
): Promise<WireClient> {
  const still = { clock: manualClock(startMicros), timers: manualTimers() };
  const { client } = await startFixtureOf(t, { ...still, ...options });
  await furnish(client, world);
  return client;
}

const key = (): Key => [random.pick(partitions), random.pick(rowKeys)];
const json = { 'Content-Type': 'application/json', Accept: acceptMinimal };

function literal(): string {
  return quoted(random.pick([...partitions, ...rowKeys, 'hidden', 'seen']));
}

function filter(depth = 0): string {
  switch (random.int(depth > 2 ? 4 : 8)) {
    case 0:
      return `PartitionKey ${random.pick(['eq', 'ne', 'lt', 'le', 'gt', 'ge'])} ${literal()}`;
    case 1:
      return `RowKey ${random.pick(['eq', 'ne', 'lt', 'le', 'gt', 'ge'])} ${literal()}`;
    case 2:
      return random.pick(["text eq 'hidden'", 'n ge 2', 'n ne 1', 'absent eq 1', 'n lt 9L']);
    case 3:
      return random.pick(['true', 'false', "Timestamp ge datetime'2000-01-01T00:00:00Z'"]);
    case 4:
      return `not (${filter(depth + 1)})`;
    case 5:
    case 6:
      return `(${filter(depth + 1)}) or (${filter(depth + 1)})`;
    default:
      return `(${filter(depth + 1)}) and (${filter(depth + 1)})`;
  }
}

function queryOptions(): string {
  const options: string[] = [];
  if (random.chance(0.7)) options.push(`$filter=${encodeURIComponent(filter())}`);
  if (random.chance(0.5)) options.push(`$top=${random.pick([0, 1, 1, 2, 5, 1000])}`);
  if (random.chance(0.3)) options.push(`$select=${random.pick(['n', 'text,n', 'absent', '*'])}`);
  if (random.chance(0.5)) {
    options.push(`NextPartitionKey=${encodeURIComponent(encodeToken(random.pick(partitions)))}`);
    if (random.chance(0.7)) {
      options.push(`NextRowKey=${encodeURIComponent(encodeToken(random.pick(rowKeys)))}`);
    }
  }
  return options.length === 0 ? '' : `?${options.join('&')}`;
}

/** Etags that other rows may have, and some that no row has. */
const ifMatches = [
  '*',
  '*',
  `W/"datetime'${new Date(startMicros / 1000).toISOString().replaceAll(':', '%3A')}'"`,
  'W/"nothing"',
  'nonsense',
];

function write(table: string): Operation {
  const [PartitionKey, RowKey] = key();
  const path = spelled(entityPath(table, PartitionKey, RowKey));
  const properties = JSON.stringify({ n: random.int(9), text: 'written' });
  const conditional = random.chance(0.5) ? { 'If-Match': random.pick(ifMatches) } : {};
  const headers = { ...json, ...conditional };
  const echo = random.chance(0.5) ? { Prefer: 'return-no-content' } : {};
  switch (random.int(5)) {
    case 0: {
      const body = JSON.stringify({ PartitionKey, RowKey, n: random.int(9) });
      return { method: 'POST', path: `/${table}`, headers: { ...json, ...echo }, body };
    }
    case 1:
      return { method: 'PUT', path, headers, body: properties };
    case 2:
      return { method: random.pick(['MERGE', 'PATCH']), path, headers, body: properties };
    case 3: {
      const method = random.pick(['MERGE', 'PUT', 'DELETE', 'GET']);
      return {
        method: 'POST',
        path,
        headers: { ...headers, 'X-HTTP-Method': method },
        body: properties,
      };
    }
    default:
      return { method: 'DELETE', path, headers: { Accept: acceptMinimal, 'If-Match': '*' } };
  }
}

function read(table: string): Operation {
  const headers = { Accept: acceptMinimal };
  if (random.chance(0.4)) {
    return { method: 'GET', path: spelled(entityPath(table, ...key())), headers };
  }
  const path = `/${table}${random.pick(['', '()'])}${queryOptions()}`;
  return { method: 'GET', path, headers };
}

/** The same path in another spelling, or nearly. */
function spelled(path: string): string {
  switch (random.int(12)) {
    case 0:
      return path.replaceAll("'", '%27');
    case 1:
      return path.replace('(', '%28').replace(')', '%29');
    case 2:
      return path.replace('/', '//');
    case 3:
      return path.replace(',', ', ');
    case 4:
      return path.toUpperCase().replace('PARTITIONKEY', 'PartitionKey').replace('ROWKEY', 'RowKey');
    default:
      return path;
  }
}

function aboutTables(table: string): Operation {
  const headers = { Accept: acceptMinimal };
  const own = { 'Content-Type': 'application/json', ...headers };
  return random.pick<Operation>([
    { method: 'GET', path: '/Tables', headers },
    { method: 'GET', path: `/Tables('${table}')`, headers },
    { method: 'DELETE', path: `/Tables('${table}')`, headers },
    { method: 'POST', path: '/Tables', headers: own, body: `{"TableName":"${table}"}` },
    { method: 'GET', path: `/${table}?comp=acl`, headers },
    { method: 'HEAD', path: `/${table}?comp=acl`, headers },
    { method: 'PUT', path: `/${table}?comp=acl`, headers, body: '<SignedIdentifiers/>' },
    { method: 'GET', path: '/?restype=service&comp=properties', headers },
    { method: 'GET', path: '/?restype=service&comp=stats', headers },
    { method: 'OPTIONS', path: `/${table}`, headers },
    { method: 'GET', path: `/${table}?comp=nothing`, headers },
    { method: 'PUT', path: `/${table}`, headers, body: '{}' },
  ]);
}

const batchHeaders = {
  'Content-Type': 'multipart/mixed; boundary=batch_a1e9d677-b28b-435e-a89e-87e6a768a431',
};

function batch(tableOf: () => string): Operation {
  const base = random.pick(['', '/devstoreaccount1', 'http://elsewhere.example/devstoreaccount1']);
  const isQuery = random.chance(0.4);
  const body = isQuery
    ? plainBatchBody(base, [read(tableOf())])
    : changesetBody(
        base,
        Array.from({ length: 1 + random.int(4) }, () => write(tableOf())),
      );
  return { method: 'POST', path: '/$batch', headers: batchHeaders, body };
}

function nextRequest({ table }: Grant): Operation {
  const tableOf = (): string =>
    random.chance(0.85)
      ? random.pick([table, table, table, table.toLowerCase()])
      : random.pick(['Secret', 'Hidden', 'Absent', 'Tables', '\u212aeys', 'Middle']);
  switch (random.int(10)) {
    case 0:
      return aboutTables(tableOf());
    case 1:
    case 2:
    case 3:
      return batch(tableOf);
    case 4:
    case 5:
    case 6:
      return read(tableOf());
    default:
      return write(tableOf());
  }
}

function tokenFor({ table, bounds: [spk, srk, epk, erk] }: Grant): SasParameters {
  const letters = random.pick(['raud', 'raud', 'r', 'a', 'u', 'd', 'au', 'rad', 'ud', '', 'xyz']);
  const named = random.pick<SasParameters>([
    { sp: letters },
    { sp: letters },
    { sp: letters },
    { si: 'known' },
    { si: 'known', sp: 'r' },
    { si: 'three', sp: 'r' },
  ]);
  return tableSas({ tn: table, ...named, spk, srk, epk, erk });
}

const guids = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;

function shownIn({ head, text }: WireResponse, { authority }: WireClient): string {
  return `${head}\n\n${text}`
    .replaceAll(authority, 'host')
    .replaceAll(guids, 'guid')
    .replace(/\nDate: [^\r\n]*/, '');
}

/** The hidden content, and the content that the holder may change, as two texts. */
async function stateOf(
  client: WireClient,
  among: readonly Grant[] = grants,
): Promise<readonly [hidden: string, seen: string]> {
  const hidden: unknown[] = [];
  const seen: unknown[] = [];
  for (const grant of among) {
    for (const item of (await client.query(grant.table)).items) {
      const { PartitionKey, RowKey } = item as { PartitionKey: string; RowKey: string };
      (mayTouch(grant, [PartitionKey, RowKey]) ? seen : hidden).push([grant.table, item]);
    }
    hidden.push((await client.send({ path: `/${grant.table}?comp=acl` })).text);
  }
  if (among !== grants) return [JSON.stringify(hidden), JSON.stringify(seen)];
  hidden.push((await client.send({ path: '/Tables' })).text);
  for (const table of ['Secret', 'Hidden']) {
    const { status, text } = await client.query(table);
    if (status === 200) hidden.push(text);
  }
  return [JSON.stringify(hidden), JSON.stringify(seen)];
}

/** The outcome of a single request by table-service §8.3. */
function expectedStatus(
  grant: Grant,
  token: SasParameters,
  operation: Operation,
  upsertLetters: 'au' | 'a or u',
): string {
  const { method, path, headers = {} } = operation;
  if (/^\/(Tables|\?|\$batch)|comp=/.test(path) || method === 'OPTIONS' || method === 'HEAD') {
    return path === '/$batch' ? 'batch' : 'refused';
  }
  if (token['sp'] === '' || (token['si'] !== undefined && token['sp'] !== undefined)) {
    return 'refused';
  }
  const name = decodeURIComponent(/^\/+([^(?]*)/.exec(path.replace('%28', '('))?.[1] ?? '');
  if (name.toLowerCase() !== grant.table.toLowerCase()) return 'refused';
  const letters = token['si'] === undefined ? (token['sp'] ?? '') : 'raud';
  const means = headers['X-HTTP-Method'] ?? method;
  const isUpsert = /^(PUT|MERGE|PATCH)$/.test(means) && headers['If-Match'] === undefined;
  const needs = isUpsert ? 'au' : ({ GET: 'r', POST: 'a', DELETE: 'd' }[means] ?? 'u');
  const has = (letter: string): boolean => letters.includes(letter);
  const isAllowed =
    isUpsert && upsertLetters === 'a or u'
      ? Array.from(needs).some(has)
      : Array.from(needs).every(has);
  return isAllowed ? 'by key' : 'refused';
}

async function twoWorlds(t: TestContext, options: ServerOptions): Promise<void> {
  const [left, right] = [await startWorld(t, 0, options), await startWorld(t, 1, options)];
  const worlds = [left, right];
  const secrets = await Promise.all(worlds.map(async (client) => (await stateOf(client))[0]));
  const before = new Map<Grant, readonly [string, string]>();
  for (const grant of grants) before.set(grant, await stateOf(left, [grant]));
  const upsertLetters = options.lenient === true ? 'a or u' : 'au';
  for (let count = 0; count < requests; count += 1) {
    const grant = random.pick(grants);
    const token = tokenFor(grant);
    const operation = nextRequest(grant);
    const secondary = random.chance(0.05) ? '-secondary' : '';
    const { method, path, headers, body } = operation;
    const target = withSas(`/devstoreaccount1${secondary}${path}`, token);
    const request = { method, target, headers: headers ?? {}, auth: 'none' } as const;
    const send = (client: WireClient): Promise<WireResponse> =>
      client.send(body === undefined ? request : { ...request, body });
    const [one, other] = [await send(left), await send(right)];
    const label = `seed ${seed}, request ${count}: ${method} ${target}\n${body ?? ''}`;
    assert.equal(shownIn(one, left), shownIn(other, right), label);
    assert.ok(one.status < 500 || one.status === 501, `${label}\n${one.text}`);
    assert.ok(!one.text.includes('hidden'), label);
    const after = await stateOf(left, [grant]);
    const [hidden, seen] = before.get(grant) ?? [];
    assert.equal(after[0], hidden, `what is hidden has changed: ${label}`);
    const isFailed = one.status >= 400 || /HTTP\/1\.1 4\d\d/.test(one.text);
    if (isFailed || secondary !== '') assert.equal(after[1], seen, `rows have changed: ${label}`);
    before.set(grant, after);
    const expected = expectedStatus(grant, token, operation, upsertLetters);
    if (expected === 'refused') assert.ok([400, 401, 403, 405, 501].includes(one.status), label);
    if (expected === 'by key' && method !== 'POST' && secondary === '') {
      assert.ok(!/AuthorizationPermissionMismatch|AuthenticationFailed/.test(one.text), label);
    }
  }
  const ends = await Promise.all(worlds.map((client) => stateOf(client)));
  assert.deepEqual(
    ends.map(([hidden]) => hidden),
    secrets,
    `seed ${seed}: what is hidden has changed`,
  );
  assert.equal(ends[0]?.[1], ends[1]?.[1], `seed ${seed}: what is seen differs`);
}

describe('the holder of a token for rows of a table', () => {
  it('cannot tell apart two servers that differ in all other rows', costly(), (t) =>
    twoWorlds(t, {}),
  );

  it('cannot either where little is refused and pages have any shape', costly(), (t) =>
    twoWorlds(t, { lenient: true, pagingTestMode: { seed: 'two worlds' } }),
  );
});
