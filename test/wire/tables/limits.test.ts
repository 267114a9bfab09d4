import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  assertChangesetDone,
  changesetError,
  insertOperation,
  sendChangeset,
  writeOperation,
} from '../kit/batch.js';
import { entityPath } from '../kit/client.js';
import { assertJsonError, refusals, type ExpectedError } from '../kit/errors.js';
import { startFixture } from '../kit/server.js';

// table-service §14 no. 6, §2.2 and §2.3: every limit ± 1 has its own code, and nothing is stored.

const { client } = await startFixture();

const keys = { PartitionKey: 'p', RowKey: 'r' };
const binary = (bytes: number) => Buffer.alloc(bytes, 1).toString('base64');
const binaryProperty = (name: string, bytes: number) => ({
  [`${name}@odata.type`]: 'Edm.Binary',
  [name]: binary(bytes),
});

function properties(count: number): Record<string, number> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, index]));
}

/** Properties that make an entity with one-letter keys exactly this large (table-service §2.2). */
function sized(bytes: number): Record<string, string> {
  const full = 8 + 2 * 3 + 65_536 + 4;
  let left = bytes - (4 + 2 * (1 + 1));
  const all: Record<string, string> = {};
  for (let index = 10; left >= full; index += 1) {
    Object.assign(all, binaryProperty(`b${index}`, 65_536));
    left -= full;
  }
  const rest = left - (8 + 2 * 4 + 4);
  assert.ok(rest >= 0);
  return { ...all, ...binaryProperty('last', rest) };
}

interface Limit {
  readonly name: string;
  readonly fits: object;
  readonly exceeds: object;
  readonly error: ExpectedError;
  readonly layer: 'validation' | 'storage';
}

const tooLarge = refusals.valueTooLarge;
const entityTooLarge = refusals.entityTooLarge;

const limits: readonly Limit[] = [
  {
    name: '252 properties',
    fits: properties(252),
    exceeds: properties(253),
    error: refusals.tooManyProperties,
    layer: 'validation',
  },
  {
    name: 'a property name of 255 characters',
    fits: { ['n'.repeat(255)]: 1 },
    exceeds: { ['n'.repeat(256)]: 1 },
    error: refusals.propertyNameTooLong,
    layer: 'validation',
  },
  {
    name: 'a string of 32,768 characters',
    fits: { v: 'x'.repeat(32_768) },
    exceeds: { v: 'x'.repeat(32_769) },
    error: tooLarge,
    layer: 'storage',
  },
  {
    name: 'a string of 16,384 surrogate pairs',
    fits: { v: '😀'.repeat(16_384) },
    exceeds: { v: `${'😀'.repeat(16_384)}x` },
    error: tooLarge,
    layer: 'storage',
  },
  {
    name: 'a string of 32,768 characters of three bytes',
    fits: { v: '日'.repeat(32_768) },
    exceeds: { v: '日'.repeat(32_769) },
    error: tooLarge,
    layer: 'storage',
  },
  {
    name: 'a binary of 65,536 bytes',
    fits: binaryProperty('v', 65_536),
    exceeds: binaryProperty('v', 65_537),
    error: tooLarge,
    layer: 'storage',
  },
  {
    name: 'an entity of 1 MiB',
    fits: sized(1_048_576),
    exceeds: sized(1_048_577),
    error: entityTooLarge,
    layer: 'storage',
  },
];

for (const { name, fits, exceeds, error, layer } of limits) {
  describe(name, () => {
    it('fits in an insert, one more does not', async () => {
      const table = await client.newTable();
      assertJsonError(await client.insert(table, { ...keys, ...exceeds }), error);
      assert.deepEqual(await client.rowKeys(table), []);
      assert.equal((await client.insert(table, { ...keys, ...fits })).status, 201);
      const read = await client.get(table, 'p', 'r');
      for (const [property, value] of Object.entries(fits)) {
        if (!property.includes('@')) assert.equal(read.json[property], value, property);
      }
    });

    for (const method of ['PUT', 'MERGE'] as const) {
      it(`fits in a ${method}, one more does not`, async () => {
        const table = await client.newTable();
        const path = entityPath(table, 'p', 'r');
        const write = (body: object) => client.send({ method, path, body: JSON.stringify(body) });
        assertJsonError(await write(exceeds), error);
        assert.deepEqual(await client.rowKeys(table), []);
        assert.equal((await write(fits)).status, 204);
      });
    }

    it('fits in a changeset, one more does not', async () => {
      const table = await client.newTable();
      const other = insertOperation(table, { PartitionKey: 'p', RowKey: 'other' });
      const failed = await sendChangeset(client, [
        other,
        insertOperation(table, { ...keys, ...exceeds }),
      ]);
      const { status, code, message = '' } = error;
      assert.deepEqual(changesetError(failed), { status, code, message: `1:${message}` });
      assert.deepEqual(await client.rowKeys(table), []);
      const alone = await sendChangeset(client, [insertOperation(table, { ...keys, ...exceeds })]);
      const prefix = layer === 'validation' ? '0:' : '';
      assert.deepEqual(changesetError(alone), { status, code, message: `${prefix}${message}` });
      const done = await sendChangeset(client, [
        other,
        writeOperation('PUT', table, ['p', 'r'], fits),
      ]);
      assertChangesetDone(done, [204, 204]);
    });
  });
}

describe('limits of the merged result', () => {
  it('a merge beyond 252 properties is refused and changes nothing', async () => {
    const table = await client.newTable();
    await client.put(table, { ...keys, ...properties(252) });
    const path = entityPath(table, 'p', 'r');
    const before = (await client.send({ path })).text;
    const add = await client.send({ method: 'MERGE', path, body: '{"more":1}' });
    assertJsonError(add, refusals.tooManyProperties);
    assert.equal((await client.send({ path })).text, before);
    const change = await client.send({ method: 'MERGE', path, body: '{"p0":"other"}' });
    assert.equal(change.status, 204);
  });

  const tooLong: readonly (readonly [string, object])[] = [
    ['a string of 32,769 characters', { v: 'x'.repeat(32_769) }],
    ['a binary of 65,537 bytes', binaryProperty('v', 65_537)],
  ];
  for (const [what, exceeds] of tooLong) {
    for (const [which, before] of [
      ['a new property', {}],
      ['a property that is there', { v: 'short' }],
    ] as const) {
      for (const method of ['PATCH', 'MERGE', 'PUT'] as const) {
        it(`${method} of ${what} into ${which} is refused, alone and in a changeset`, async () => {
          const table = await client.newTable();
          await client.put(table, { ...keys, ...before });
          const path = entityPath(table, 'p', 'r');
          const stored = (await client.send({ path })).text;
          const other = insertOperation(table, { PartitionKey: 'p', RowKey: 'other' });
          for (const ifMatch of ['*', undefined]) {
            const headers = { 'If-Match': ifMatch };
            const body = JSON.stringify(exceeds);
            assertJsonError(await client.send({ method, path, body, headers }), tooLarge);
            const part = writeOperation(method, table, ['p', 'r'], exceeds, ifMatch);
            const failed = changesetError(await sendChangeset(client, [other, part]));
            assert.equal(failed.code, tooLarge.code);
          }
          assert.equal((await client.send({ path })).text, stored);
          assert.deepEqual(await client.rowKeys(table), ['r']);
        });
      }
    }
  }

  it('merges do not grow an entity beyond 1 MiB', async () => {
    const table = await client.newTable();
    const path = entityPath(table, 'p', 'r');
    const merge = (index: number) =>
      client.send({
        method: 'MERGE',
        path,
        body: JSON.stringify({ [`p${index}`]: 'x'.repeat(32_000) }),
      });
    // 16 × (8 + 2 × 2 + 64,000 + 4) bytes, twelve more for longer names, fit into 1,048,576.
    for (let index = 0; index < 16; index += 1) assert.equal((await merge(index)).status, 204);
    for (const index of [16, 17]) assertJsonError(await merge(index), entityTooLarge);
  });
});

describe('which limit speaks first (table-service §2.2)', () => {
  it('a single binary of 1 MiB is EntityTooLarge', async () => {
    const table = await client.newTable();
    const entity = { ...keys, ...binaryProperty('v', 1_048_576) };
    assertJsonError(await client.insert(table, entity), entityTooLarge);
  });

  it('64 KiB and a byte in a small entity is PropertyValueTooLarge', async () => {
    const table = await client.newTable();
    const entity = { ...keys, ...binaryProperty('v', 65_537), w: 1 };
    assertJsonError(await client.insert(table, entity), tooLarge);
  });

  it('a body of more than 4 MiB is 413', async () => {
    const table = await client.newTable();
    const entity = { ...keys, v: 'x'.repeat(4 * 1024 * 1024) };
    assertJsonError(await client.insert(table, entity), refusals.tooLargeBody);
  });
});

describe('keys of 512 characters', () => {
  const fits = 'k'.repeat(512);
  const exceeds = 'k'.repeat(513);

  for (const name of ['PartitionKey', 'RowKey'] as const) {
    it(`fit in an insert as ${name}, 513 do not`, async () => {
      const table = await client.newTable();
      assertJsonError(await client.insert(table, { ...keys, [name]: exceeds }), tooLarge);
      assert.deepEqual(await client.rowKeys(table), []);
      assert.equal((await client.insert(table, { ...keys, [name]: fits })).status, 201);
    });
  }

  for (const method of ['PUT', 'MERGE'] as const) {
    it(`fit in an upsert by ${method}, 513 do not`, async () => {
      const table = await client.newTable();
      const upsert = (partitionKey: string, rowKey: string) =>
        client.send({ method, path: entityPath(table, partitionKey, rowKey), body: '{}' });
      assertJsonError(await upsert(exceeds, 'r'), tooLarge);
      assertJsonError(await upsert('p', exceeds), tooLarge);
      assert.deepEqual(await client.rowKeys(table), []);
      assert.equal((await upsert(fits, fits)).status, 204);
      assert.equal((await client.get(table, fits, fits)).status, 200);
    });
  }

  for (const method of ['GET', 'PUT', 'MERGE', 'DELETE']) {
    it(`${method} of a longer key, conditional where it writes, finds nothing`, async () => {
      const table = await client.newTable();
      for (const path of [entityPath(table, exceeds, 'r'), entityPath(table, 'p', exceeds)]) {
        const response = await client.send({
          method,
          path,
          ...(method === 'PUT' || method === 'MERGE' ? { body: '{}' } : {}),
          headers: method === 'GET' ? {} : { 'If-Match': '*' },
        });
        assertJsonError(response, refusals.resourceNotFound);
      }
    });
  }

  it('count UTF-16 code units', async () => {
    const table = await client.newTable();
    const pairs = '😀'.repeat(256);
    assert.equal((await client.insert(table, { ...keys, RowKey: pairs })).status, 201);
    assert.equal((await client.get(table, 'p', pairs)).status, 200);
    const more = await client.insert(table, { ...keys, RowKey: `${pairs}x` });
    assertJsonError(more, tooLarge);
  });
});
