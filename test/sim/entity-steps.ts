import assert from 'node:assert/strict';
import { unreachable } from '../../src/base/invariant.js';
import {
  syntaxRefusal,
  urlKeysRefusal,
  refusal,
  type ModelTable,
  type Refusal,
  type SimCondition,
  type SimWrite,
} from './model.js';
import { simValueOf, stringValue } from './values.js';
import {
  assertEntity,
  assertRefused,
  bodyText,
  entityUrl,
  parseBody,
  respelled,
  tableNames,
  type World,
} from './world.js';

const badKeys = ['a/b', 'a\\b', 'a#b', 'a?b', 'tab\t', '\u0085', 'x'.repeat(513)];

export interface Target {
  /** As spelled in the URL. */
  readonly name: string;
  readonly table: ModelTable | undefined;
}

export function anyTarget(world: World): Target {
  const { random, account } = world;
  const tables = account.sorted();
  const known = tables.length > 0 && random.chance(0.97);
  const name = respelled(random, known ? random.pick(tables).name : random.pick(tableNames));
  return { name, table: account.find(name) };
}

export async function getEntity(world: World): Promise<void> {
  const { random } = world;
  const { name, table } = anyTarget(world);
  const isBad = table !== undefined && random.chance(0.03);
  const [partitionKey, rowKey] = isBad ? ['a', random.pick(badKeys)] : world.keysIn(table, 0.7);
  const response = await world.send({ path: entityUrl(name, partitionKey, rowKey) });
  const expected = urlKeysRefusal(partitionKey, rowKey);
  if (expected !== undefined) return assertRefused(response, expected);
  if (table === undefined) return assertRefused(response, refusal(404, 'TableNotFound'));
  const entity = table.get(partitionKey, rowKey);
  if (entity === undefined) return assertRefused(response, refusal(404, 'ResourceNotFound'));
  assert.equal(response.status, 200);
  assert.equal(response.header('ETag'), entity.etag);
  assertEntity(parseBody(response), entity);
}

/** A random write; `keys` are given when they are chosen already. */
export function anyWrite(
  world: World,
  table: ModelTable | undefined,
  keys = world.keysIn(table, 0.5),
): SimWrite {
  const { random } = world;
  const [partitionKey, rowKey] = keys;
  const kind = random.weighted({ insert: 4, put: 3, merge: 4, delete: 2 });
  const current = table?.get(partitionKey, rowKey)?.etag;
  return {
    kind,
    partitionKey,
    rowKey,
    condition: kind === 'insert' ? { kind: 'absent' } : anyCondition(world, kind, current),
    properties: kind === 'delete' ? [] : world.properties(),
  };
}

function anyCondition(
  world: World,
  kind: SimWrite['kind'],
  current: string | undefined,
): SimCondition {
  const { random, oldEtags } = world;
  const choice = random.weighted({
    absent: kind === 'delete' ? 1 : 30,
    any: 20,
    current: 20,
    old: 15,
    malformed: 1,
  });
  switch (choice) {
    case 'absent':
      return { kind: 'absent' };
    case 'any':
      return { kind: 'any' };
    case 'current':
      return current === undefined ? { kind: 'any' } : { kind: 'etag', etag: current };
    case 'old': {
      const foreign = [
        'W/"datetime\'2001-01-01T00%3A00%3A00Z\'"',
        'W/"never made here"',
        ...oldEtags,
      ];
      return { kind: 'etag', etag: random.pick(foreign) };
    }
    case 'malformed':
      return {
        kind: 'malformed',
        text: random.pick(['wrong', '"strong"', "datetime'2001-01-01'"]),
      };
    default:
      return unreachable(choice);
  }
}

/** The refusal of a write, by its syntax and then by the table (table-service §3.3). */
export function writeRefusal(write: SimWrite, table: ModelTable | undefined): Refusal | undefined {
  const inSyntax = syntaxRefusal(write);
  if (inSyntax !== undefined) return inSyntax;
  if (table === undefined) return refusal(404, 'TableNotFound', true);
  return table.refusalOf(write);
}

export interface WrittenRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

export function writeRequest(world: World, name: string, write: SimWrite): WrittenRequest {
  const { random } = world;
  const { kind, partitionKey, rowKey, condition } = write;
  const headers: Record<string, string> = {};
  if (condition.kind === 'any') headers['If-Match'] = '*';
  if (condition.kind === 'etag') headers['If-Match'] = condition.etag;
  if (condition.kind === 'malformed') headers['If-Match'] = condition.text;
  const url = entityUrl(name, partitionKey, rowKey);
  if (kind === 'delete') return { method: 'DELETE', path: url, headers };
  headers['Content-Type'] = 'application/json';
  const keys =
    kind === 'insert' || random.chance(0.5) ? ([partitionKey, rowKey] as const) : undefined;
  const body = bodyText(random, keys, write.properties);
  if (kind === 'put') return { method: 'PUT', path: url, headers, body };
  if (kind === 'insert') {
    if (random.chance(0.5)) headers['Prefer'] = 'return-no-content';
    return { method: 'POST', path: `/${name}${random.chance(0.2) ? '()' : ''}`, headers, body };
  }
  const method = random.weighted({ MERGE: 2, PATCH: 2, POST: 1 });
  if (method === 'POST') headers['X-HTTP-Method'] = 'MERGE';
  return { method, path: url, headers, body };
}

export async function writeEntity(world: World): Promise<void> {
  const { random } = world;
  const { name, table } = anyTarget(world);
  const write = faulty(world, table, anyWrite(world, table));
  const request = writeRequest(world, name, write);
  const expected = writeRefusal(write, table);
  const before = table?.get(write.partitionKey, write.rowKey)?.etag;
  const response = await world.send(request);
  if (expected !== undefined || table === undefined) {
    return assertRefused(response, expected ?? refusal(404, 'TableNotFound'));
  }
  const isQuiet = request.headers['Prefer'] !== undefined;
  assert.equal(response.status, write.kind === 'insert' && !isQuiet ? 201 : 204);
  const etag = response.header('ETag');
  if (write.kind === 'delete') {
    assert.equal(etag, undefined);
  } else {
    world.noteEtag(etag ?? '');
  }
  table.apply(write, etag);
  world.rememberOld(before);
  const entity = table.get(write.partitionKey, write.rowKey);
  if (response.status === 201 && entity !== undefined) assertEntity(parseBody(response), entity);
  if (entity !== undefined && random.chance(0.2)) await readBack(world, name, table, write);
}

async function readBack(
  world: World,
  name: string,
  table: ModelTable,
  write: SimWrite,
): Promise<void> {
  const entity = table.get(write.partitionKey, write.rowKey);
  const response = await world.send({ path: entityUrl(name, write.partitionKey, write.rowKey) });
  assert.equal(response.status, 200);
  assert.ok(entity);
  assertEntity(parseBody(response), entity);
}

/** Sometimes a write with one error; with only one, so that the response is unambiguous. */
function faulty(world: World, table: ModelTable | undefined, write: SimWrite): SimWrite {
  const { random } = world;
  if (table === undefined) {
    return write.condition.kind === 'malformed' ? { ...write, condition: { kind: 'any' } } : write;
  }
  const isFaulty = write.partitionKey.length > 512 || write.rowKey.length > 512;
  if (isFaulty || write.kind === 'delete' || !random.chance(0.04)) return write;
  const sound: SimWrite =
    write.condition.kind === 'malformed' ? { ...write, condition: { kind: 'any' } } : write;
  const upsert = { ...write, kind: 'put', condition: { kind: 'absent' } } as const;
  const fault = random.weighted({ key: 4, large: 1, many: 1 });
  switch (fault) {
    case 'key':
      return { ...sound, rowKey: random.pick(badKeys) };
    case 'large':
      return { ...upsert, properties: [['n', stringValue(random, 'x'.repeat(32_769))]] };
    case 'many': {
      const names = Array.from({ length: 253 }, (_, index) => `p${index}`);
      return {
        ...upsert,
        properties: names.map((each) => [each, simValueOf(random, 'Edm.Int32')]),
      };
    }
    default:
      return unreachable(fault);
  }
}
