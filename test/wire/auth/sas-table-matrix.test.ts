import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EntityRange } from '../../../src/model/edm/entity-range.js';
import { isInside } from '../../support/entity-ranges.js';
import {
  changesetBody,
  changesetParts,
  deleteOperation,
  insertOperation,
  jsonErrorOf,
  plainBatchBody,
  plainPart,
  writeOperation,
  type Operation,
} from '../kit/batch.js';
import { acceptMinimal, entityPath, quoted } from '../kit/client.js';
import type { WireResponse } from '../kit/response.js';
import { tableSas, withSas, type SasParameters } from '../kit/sas.js';
import { startFixture } from '../kit/server.js';

// Every permission × operation × key × way to send it with a signature for a table. The expected
// results are computed from table-service §8.3 alone.

const { client } = await startFixture();
const table = await client.newTable('Matrix');

type Key = readonly [partitionKey: string, rowKey: string];

const keys: readonly Key[] = [
  ['a', '5'],
  ['b', '1'],
  ['b', '5'],
  ['b', '9'],
  ['c', '5'],
  ['d', '5'],
  ['d', '9'],
  ['e', ''],
];

interface Token {
  readonly sp: string;
  /** `spk`, `srk`, `epk` and `erk`. */
  readonly bounds: readonly (string | undefined)[];
}

const everything = ['r', 'a', 'u', 'd', 'au', 'ru', 'rad', 'raud'];
const tokens: readonly Token[] = [
  ...everything.map((sp): Token => ({ sp, bounds: [] })),
  ...everything.map((sp): Token => ({ sp, bounds: ['b', '5', 'd', '5'] })),
  { sp: 'raud', bounds: ['b'] },
  { sp: 'raud', bounds: [undefined, undefined, 'd'] },
  { sp: 'raud', bounds: ['b', undefined, 'b'] },
  { sp: 'raud', bounds: ['b', '5', 'b', '5'] },
  { sp: 'raud', bounds: ['d', undefined, 'b'] },
];

function rangeOf({ bounds }: Token): EntityRange {
  const names = ['startPartitionKey', 'startRowKey', 'endPartitionKey', 'endRowKey'];
  const given = names.map((name, index) => [name, bounds[index]] as const);
  return Object.fromEntries(given.filter(([, bound]) => bound !== undefined));
}

function sign({ sp, bounds: [spk, srk, epk, erk] }: Token): SasParameters {
  return tableSas({ tn: table, sp, spk, srk, epk, erk });
}

interface Case {
  readonly name: string;
  /** All permissions that it needs. */
  readonly needs: string;
  readonly operation: (key: Key) => Operation;
  /** `absent`: the entity must not exist; by default it must. */
  readonly demands?: 'absent';
  readonly isRead?: true;
  readonly status: number;
}

const n = { n: 1 };
const json = { 'Content-Type': 'application/json', Accept: acceptMinimal };
const cases: readonly Case[] = [
  {
    name: 'GetEntity',
    needs: 'r',
    operation: ([pk, rk]) => ({ method: 'GET', path: entityPath(table, pk, rk), headers: json }),
    isRead: true,
    status: 200,
  },
  {
    name: 'InsertEntity',
    needs: 'a',
    operation: ([PartitionKey, RowKey]) => insertOperation(table, { PartitionKey, RowKey }),
    demands: 'absent',
    status: 204,
  },
  {
    name: 'UpdateEntity',
    needs: 'u',
    operation: (key) => writeOperation('PUT', table, key, n, '*'),
    status: 204,
  },
  {
    name: 'MergeEntity',
    needs: 'u',
    operation: (key) => writeOperation('MERGE', table, key, n, '*'),
    status: 204,
  },
  {
    name: 'InsertOrReplaceEntity',
    needs: 'au',
    operation: (key) => writeOperation('PUT', table, key, n),
    status: 204,
  },
  {
    name: 'InsertOrMergeEntity',
    needs: 'au',
    operation: (key) => writeOperation('PATCH', table, key, n),
    status: 204,
  },
  {
    name: 'DeleteEntity',
    needs: 'd',
    operation: (key) => deleteOperation(table, key),
    status: 204,
  },
];

interface Outcome {
  readonly status: number;
  readonly code?: string;
}

function expected({ sp }: Token, one: Case, inside: boolean): Outcome {
  const hasAll = one.needs.split('').every((letter) => sp.includes(letter));
  if (!hasAll) return { status: 403, code: 'AuthorizationPermissionMismatch' };
  if (inside) return { status: one.status };
  return one.isRead === true
    ? { status: 404, code: 'ResourceNotFound' }
    : { status: 403, code: 'AuthorizationFailure' };
}

function sendAlone(operation: Operation, token: SasParameters): Promise<WireResponse> {
  const { method, path, headers = {}, body } = operation;
  const request = { method, path: withSas(path, token), headers, auth: 'none' as const };
  return client.send(body === undefined ? request : { ...request, body });
}

function sendInBatch(body: string, token: SasParameters): Promise<WireResponse> {
  const type = 'multipart/mixed; boundary=batch_a1e9d677-b28b-435e-a89e-87e6a768a431';
  const headers = { 'Content-Type': type };
  return client.send({
    method: 'POST',
    path: withSas('/$batch', token),
    headers,
    body,
    auth: 'none',
  });
}

function outcomeOf(response: WireResponse): Outcome {
  const { status } = response;
  if (status < 400) return { status };
  const { code } = response.json['odata.error'] as { code: string };
  return { status, code };
}

/** A batch has status 202 and the outcome in its body. */
function partOutcome(response: WireResponse, isRead: boolean): Outcome {
  if (response.status !== 202) return outcomeOf(response);
  const part = isRead ? plainPart(response) : changesetParts(response)[0];
  assert.ok(part);
  if (part.status < 400) return { status: part.status };
  const { status, code, message } = jsonErrorOf(part);
  assert.match(message, /^0:/);
  return { status, code };
}

async function dump(): Promise<string> {
  const response = await client.query(table);
  assert.equal(response.status, 200);
  return response.text;
}

async function restore(key: Key, present: boolean): Promise<void> {
  const operation = present
    ? writeOperation('PUT', table, key, { n: 0 })
    : deleteOperation(table, key);
  const { status, text } = await client.send(operation);
  assert.ok(status === 204 || (!present && status === 404), text);
}

async function check(token: Token, one: Case, key: Key, way: 'alone' | 'batch'): Promise<void> {
  const outcome = expected(token, one, isInside(rangeOf(token), key[0], key[1]));
  const isAllowed = outcome.status < 400;
  const isInsert = one.demands === 'absent';
  if (isInsert && isAllowed) await restore(key, false);
  const before = isAllowed ? '' : await dump();
  const operation = one.operation(key);
  const sas = sign(token);
  const isRead = one.isRead === true;
  const body = isRead
    ? plainBatchBody(client.base, [operation])
    : changesetBody(client.base, [operation]);
  const seen =
    way === 'alone'
      ? outcomeOf(await sendAlone(operation, sas))
      : partOutcome(await sendInBatch(body, sas), isRead);
  const label = `${one.name} ${way} of ${key.join('/')}`;
  assert.deepEqual(seen, outcome, label);
  if (!isAllowed) assert.equal(await dump(), before, `${label} has changed something`);
  if (isAllowed && !isRead) await restore(key, true);
}

for (const key of keys) await restore(key, true);

for (const token of tokens) {
  const bounds = token.bounds.map((bound) => bound ?? '-').join(' ');
  describe(`a signature for a table: sp=${token.sp}, range ${bounds || 'none'}`, () => {
    for (const one of cases) {
      it(`${one.name} needs ${one.needs} and a key in the range, alone and in a batch`, async () => {
        for (const key of keys) {
          await check(token, one, key, 'alone');
          await check(token, one, key, 'batch');
        }
      });
    }

    it('a query shows the range and nothing else, whatever it asks for', async () => {
      const sas = sign(token);
      if (!token.sp.includes('r')) {
        const refused = await client.send({ path: withSas(`/${table}()`, sas), auth: 'none' });
        const code = 'AuthorizationPermissionMismatch';
        assert.deepEqual(outcomeOf(refused), { status: 403, code });
        return;
      }
      const range = rangeOf(token);
      const inside = keys.filter(([pk, rk]) => isInside(range, pk, rk));
      assert.deepEqual(await pagesOf(sas, '', 1000), inside);
      assert.deepEqual(await pagesOf(sas, '', 1), inside);
      for (const key of keys) {
        const [pk, rk] = key;
        const filter = `PartitionKey eq ${quoted(pk)} and RowKey eq ${quoted(rk)}`;
        const found = inside.filter((each) => each === key);
        assert.deepEqual(await pagesOf(sas, `$filter=${encodeURIComponent(filter)}`, 2), found);
        const start = `NextPartitionKey=${tokenOf(pk)}&NextRowKey=${tokenOf(rk)}`;
        const behind = inside.slice(0).filter((each) => keys.indexOf(each) >= keys.indexOf(key));
        assert.deepEqual(await pagesOf(sas, start, 1000), behind);
      }
    });
  });
}

function tokenOf(key: string): string {
  const payload = Buffer.from(key).toString('base64').replaceAll('=', '-');
  return encodeURIComponent(`1!${payload.length}!${payload}`);
}

/**
 * The keys on all pages of a query; fails when a token names a key that the query does not return.
 */
async function pagesOf(sas: SasParameters, query: string, top: number): Promise<Key[]> {
  const found: Key[] = [];
  let options = query;
  for (let page = 0; page < 20; page += 1) {
    const path = withSas(`/${table}()?$top=${top}${options === '' ? '' : `&${options}`}`, sas);
    const response = await client.send({ path, auth: 'none' });
    assert.equal(response.status, 200, response.text);
    for (const item of response.items)
      found.push([String(item['PartitionKey']), String(item['RowKey'])]);
    const next = response.header('x-ms-continuation-nextpartitionkey');
    if (next === undefined) {
      return found.map((key) => keys.find(([pk, rk]) => pk === key[0] && rk === key[1]) ?? key);
    }
    const row = response.header('x-ms-continuation-nextrowkey') ?? '';
    const filter = /\$filter=[^&]*/.exec(query)?.[0];
    options = `NextPartitionKey=${encodeURIComponent(next)}&NextRowKey=${encodeURIComponent(row)}`;
    if (filter !== undefined) options += `&${filter}`;
  }
  throw new Error('a query without end');
}

describe('a changeset under a signature with a range', () => {
  const inRange = { tn: table, sp: 'raud', spk: 'b', srk: '5', epk: 'b', erk: '7' };
  const outside = writeOperation('PUT', table, ['b', '9'], n);
  const allowed = writeOperation('PUT', table, ['b', '5'], n);

  it('is applied in whole or not at all, and names the operation that may not', async () => {
    for (const [operations, index] of [
      [[allowed, outside], 1],
      [[outside, allowed], 0],
      [[allowed, insertOperation(table, { PartitionKey: 'b', RowKey: '71' })], 1],
      [[allowed, deleteOperation(table, ['b', '1'])], 1],
    ] as const) {
      const before = await dump();
      const response = await sendInBatch(changesetBody(client.base, operations), tableSas(inRange));
      const [part, ...others] = changesetParts(response);
      assert.ok(part !== undefined && others.length === 0);
      const { status, code, message } = jsonErrorOf(part);
      assert.deepEqual([status, code], [403, 'AuthorizationFailure']);
      assert.match(message, new RegExp(`^${index}:This request is not authorized`));
      assert.equal(await dump(), before);
    }
  });

  it('is refused when a letter lacks for one of its operations', async () => {
    const before = await dump();
    const sas = tableSas({ ...inRange, sp: 'au' });
    const operations = [allowed, deleteOperation(table, ['b', '6'])];
    const response = await sendInBatch(changesetBody(client.base, operations), sas);
    const [part] = changesetParts(response);
    assert.ok(part);
    const { status, code, message } = jsonErrorOf(part);
    assert.deepEqual([status, code], [403, 'AuthorizationPermissionMismatch']);
    assert.match(message, /^1:/);
    assert.equal(await dump(), before);
  });
});
