import assert from 'node:assert/strict';
import type { SimRandom } from '../support/sim-random.js';
import { urlKey, type WireClient } from '../wire/kit/client.js';
import type { WireResponse } from '../wire/kit/response.js';
import type { WireRequest } from '../wire/kit/signing-client.js';
import { objectMembers, parseExact, type ExactJson } from './exact-json.js';
import {
  ModelAccount,
  stampOf,
  timestampOf,
  type ModelEntity,
  type ModelTable,
  type Refusal,
  type SentProperty,
} from './model.js';
import { anySimValue, isAnnotated, isValue } from './values.js';

/** Keys whose order, quoting or encoding is easily wrong. */
export const partitionKeys = [
  '',
  'a',
  'A',
  'b',
  'ab',
  "o'neil",
  "''",
  'p%2Fq',
  'x+y z',
  '10',
  '9',
  '\ud7ff',
  '😀',
  '\ue000',
  '\uffff',
  "',RowKey='",
  '&$top=1',
  '日本',
];
export const rowKeys = [
  '',
  '0',
  '00',
  '1',
  '10',
  '2',
  'a',
  'B',
  'é',
  '😀',
  '\ue000',
  '\ufffd',
  "'",
  "it''s",
  '%',
  '%27',
  ')',
  '~',
  'a b',
  ',',
  '=',
  '"',
  '`',
  '<&>',
];
export const propertyNames = [
  'n',
  'flag',
  'Flag',
  '_x',
  'ß',
  '日本',
  'value',
  'constructor',
  '__proto__',
  'd1',
];
/** Names with two spellings are the same table. */
export const tableNames = ['alpha', 'Alpha2', 'beta', 'BETA', 'gamma', 'GammaRay', 'abc'];

const historyLength = 12;

/** The server under test, its model, and the history of both. */
export class World {
  readonly random: SimRandom;
  client: WireClient;
  readonly account = new ModelAccount();
  /** The highest timestamp so far: every later write must have a higher one. */
  #watermark = '';
  /** Former etags. */
  readonly oldEtags: string[] = [];
  readonly #history: string[] = [];

  constructor(random: SimRandom, client: WireClient) {
    this.random = random;
    this.client = client;
  }

  /** The last requests and their answers, for the report of a failure. */
  get history(): string {
    return this.#history.join('\n');
  }

  async send(request: WireRequest): Promise<WireResponse> {
    const line = `${request.method ?? 'GET'} ${request.path} ${shortly(request.headers)} ${shortly(request.body)}`;
    this.#history.push(line);
    if (this.#history.length > historyLength) this.#history.shift();
    const response = await this.client.send(request);
    this.#history.push(`  -> ${response.status} ${response.text.slice(0, 600)}`);
    return response;
  }

  /** A random key of the pool, sometimes one of extreme length. */
  key(pool: readonly string[]): string {
    if (this.random.chance(0.01))
      return this.random.pick(['\ue000', 'z', '😀']).repeat(256) + 'y'.repeat(256);
    return this.random.pick(pool);
  }

  /** The keys of an entity in the table, or of none. */
  keysIn(table: ModelTable | undefined, existing: number): readonly [string, string] {
    if (table !== undefined && table.size > 0 && this.random.chance(existing)) {
      const { partitionKey, rowKey } = this.random.pick(table.values());
      return [partitionKey, rowKey];
    }
    return [this.key(partitionKeys), this.key(rowKeys)];
  }

  properties(): SentProperty[] {
    const count = this.random.int(6);
    const names = new Set(Array.from({ length: count }, () => this.random.pick(propertyNames)));
    return [...names].map((name) => [
      name,
      this.random.chance(0.05) ? undefined : anySimValue(this.random),
    ]);
  }

  /**
   * Checks and records the etag of a successful write. Etags in one changeset may be equal
   * (table-service §2.7).
   */
  noteEtag(etag: string, isFirstOfCommit = true): void {
    const stamp = stampOf(etag);
    const isLater = isFirstOfCommit ? stamp > this.#watermark : stamp >= this.#watermark;
    assert.ok(isLater, `the etag ${etag} is not above the highest before, ${this.#watermark}`);
    this.#watermark = stamp;
  }

  rememberOld(etag: string | undefined): void {
    if (etag === undefined) return;
    this.oldEtags.push(etag);
    if (this.oldEtags.length > 50) this.oldEtags.shift();
  }
}

function shortly(value: unknown): string {
  if (value === undefined) return '';
  const text =
    typeof value === 'string' || Buffer.isBuffer(value) ? value.toString() : JSON.stringify(value);
  return text.length > 900 ? `${text.slice(0, 900)}…(${text.length})` : text;
}

/** The table name in another case, which names the same table. */
export function respelled(random: SimRandom, name: string): string {
  if (random.chance(0.8)) return name;
  return random.chance(0.5) ? name.toUpperCase() : name.toLowerCase();
}

export function entityUrl(table: string, partitionKey: string, rowKey: string): string {
  return `/${table}(PartitionKey='${urlKey(partitionKey)}',RowKey='${urlKey(rowKey)}')`;
}

/**
 * The body of a write. Annotations come before or after their values (table-service §2.5 rule 2).
 */
export function bodyText(
  random: SimRandom,
  keys: readonly [string, string] | undefined,
  properties: readonly SentProperty[],
): string {
  const members = properties.flatMap(([name, value]) => {
    const member = `${JSON.stringify(name)}:${value?.sent ?? 'null'}`;
    if (value?.annotateSent !== true) return [member];
    const annotation = `${JSON.stringify(`${name}@odata.type`)}:"${value.type}"`;
    return random.chance(0.7) ? [annotation, member] : [member, annotation];
  });
  if (keys !== undefined) {
    members.unshift(
      `"PartitionKey":${JSON.stringify(keys[0])}`,
      `"RowKey":${JSON.stringify(keys[1])}`,
    );
  }
  if (random.chance(0.1)) members.push('"Timestamp":null', '"odata.etag":"W/\\"x\\""');
  return `{${members.join(',')}}`;
}

/** Checks for an error with this status and code, in the OData form when it is JSON. */
export function assertRefused(response: WireResponse, expected: Refusal): void {
  const code = errorCode(response);
  assert.deepEqual(
    { status: response.status, code },
    { status: expected.status, code: expected.code },
  );
}

export function errorCode(response: WireResponse): string | undefined {
  const type = response.header('content-type') ?? '';
  if (type.includes('json')) {
    const error = response.json['odata.error'] as { code: string } | undefined;
    assert.equal(response.header('x-ms-error-code'), error?.code);
    return error?.code;
  }
  return /<(?:m:)?code>([A-Za-z]+)</.exec(response.text)?.[1];
}

/** Checks that JSON with minimal metadata is exactly this entity. */
export function assertEntity(json: ExactJson, entity: ModelEntity): void {
  const members = new Map(objectMembers(json));
  members.delete('odata.metadata');
  const expectText = (name: string, value: string) => {
    assert.deepEqual(members.get(name), { kind: 'string', value }, name);
    members.delete(name);
  };
  expectText('odata.etag', entity.etag);
  expectText('PartitionKey', entity.partitionKey);
  expectText('RowKey', entity.rowKey);
  expectText('Timestamp', timestampOf(entity.etag));
  for (const [name, value] of entity.properties) {
    const found = members.get(name);
    assert.ok(isValue(value, found), `${name} is ${JSON.stringify(found)}, sent ${value.sent}`);
    members.delete(name);
    if (isAnnotated(value)) expectText(`${name}@odata.type`, value.type);
  }
  assert.deepEqual([...members.keys()], [], 'members that were never stored');
}

/** Checks that JSON has the selected properties of this entity, and null for absent ones. */
export function assertSelected(
  json: ExactJson,
  entity: ModelEntity,
  select: readonly string[],
): void {
  const members = new Map(objectMembers(json));
  members.delete('odata.metadata');
  assert.deepEqual(members.get('odata.etag'), { kind: 'string', value: entity.etag });
  members.delete('odata.etag');
  const fixed = new Map([
    ['PartitionKey', entity.partitionKey],
    ['RowKey', entity.rowKey],
    ['Timestamp', timestampOf(entity.etag)],
  ]);
  for (const name of select) {
    const found = members.get(name);
    members.delete(name);
    const text = fixed.get(name);
    const value = entity.properties.get(name);
    if (text !== undefined) {
      assert.deepEqual(found, { kind: 'string', value: text }, name);
    } else if (value === undefined) {
      assert.deepEqual(found, { kind: 'word', text: 'null' }, name);
    } else {
      assert.ok(isValue(value, found), `${name} is ${JSON.stringify(found)}, sent ${value.sent}`);
      if (isAnnotated(value)) {
        assert.deepEqual(members.get(`${name}@odata.type`), { kind: 'string', value: value.type });
        members.delete(`${name}@odata.type`);
      }
    }
  }
  assert.deepEqual([...members.keys()], [], 'members that were not selected');
}

export function parseBody(response: WireResponse): ExactJson {
  return parseExact(response.text);
}
