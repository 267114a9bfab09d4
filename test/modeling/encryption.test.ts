import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import * as fc from 'fast-check';
import { manualClock } from '../../src/base/clock.js';
import { createDeterministicKey } from '../../src/modeling/encryption/deterministic-keys.js';
import {
  withEncryption,
  type EncryptionOptions,
} from '../../src/modeling/encryption/encrypted-table.js';
import { EncryptionError } from '../../src/modeling/encryption/encryption-error.js';
import { envelopeProperty } from '../../src/modeling/encryption/envelope.js';
import { keyRing } from '../../src/modeling/encryption/key-wrapper.js';
import type { Row, RowProperties, WireValue } from '../../src/modeling/rows/row.js';
import { EntityExistsError } from '../../src/modeling/table/errors.js';
import { crashEverywhere } from './support/crash-points.js';
import { CountingKey } from './support/encryption-keys.js';
import { startTables } from './support/observed-tables.js';
import { anyRow, wireValues } from './support/wire-arbitraries.js';

// Encrypted rows in a real table: what is stored, read and refused, and what it costs.

const tables = await startTables();
after(() => tables[Symbol.asyncDispose]());

const text = (value: string): WireValue => ({ type: 'String', value });
const secret = 'Top secret: Jones earns 4711 €';

async function fixture(options: Partial<EncryptionOptions> = {}) {
  const observed = await tables.newTable();
  const { client, gateway: table } = observed;
  const kek = new CountingKey('kek-1');
  const keys = keyRing(kek.kek);
  const encrypted = withEncryption(table, { keys, cache: { entriesMax: 0 }, ...options });
  return { client, table, kek, keys, encrypted, requests: () => observed.takeKinds() };
}

const jones: Row = {
  partitionKey: 'Sales',
  rowKey: 'empid_000123',
  properties: { Name: text('Jones'), Note: text(secret), Salary: { type: 'Double', value: 4711 } },
  encrypt: ['Note', 'Salary'],
};

/** All byte sequences that would reveal a value inside a stored one. */
function tracesOf(plain: string): readonly Buffer[] {
  const encodings = ['utf8', 'utf16le', 'latin1'] as const;
  const raw = encodings.map((encoding) => Buffer.from(plain, encoding));
  const written = raw.flatMap((bytes) => [bytes.toString('hex'), ...base64Of(bytes)]);
  return [
    ...raw,
    ...written.map((form) => Buffer.from(form)),
    Buffer.from(encodeURIComponent(plain)),
  ];
}

/**
 * The base64 digits of bytes at each of three offsets, without those that neighbouring bytes share.
 */
function base64Of(bytes: Uint8Array): readonly string[] {
  return [0, 1, 2].map((before) => {
    const digits = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64url');
    const shared = (before + bytes.length) % 3 === 0 ? 0 : 1;
    return digits.slice([0, 2, 3][before], digits.length - shared);
  });
}

describe('an encrypted row', () => {
  it('comes back as it was, and says what was encrypted', async () => {
    const { encrypted } = await fixture();
    const { etag } = await encrypted.write({ kind: 'insert', row: jones });
    const read = await encrypted.get(jones);
    assert.deepEqual(read?.properties, jones.properties);
    assert.deepEqual(read.encrypt, ['Note', 'Salary']);
    assert.equal(read.etag, etag);
    const page = await encrypted.page({ filter: "PartitionKey eq 'Sales'" });
    assert.deepEqual(page.rows, [read]);
  });

  it('is unreadable in the table, in every encoding of what was in it', async () => {
    const { client, encrypted } = await fixture();
    await encrypted.write({ kind: 'insert', row: jones });
    const stored = await client.getEntity('Sales', 'empid_000123');
    const values = ['Name', 'Note', 'Salary', envelopeProperty].map((name) => {
      const value = stored[name];
      return value instanceof Uint8Array ? Buffer.from(value) : Buffer.from(String(value));
    });
    assert.ok(
      values.some((bytes) => bytes.includes('Jones')),
      'what is not encrypted is readable',
    );
    for (const plain of [secret, 'secret', 'Jones earns', '4711 €']) {
      for (const trace of tracesOf(plain)) {
        const found = values.find((bytes) => bytes.includes(trace));
        assert.equal(found, undefined, `${plain} shows as ${trace.toString()}`);
      }
    }
    const salary = Buffer.alloc(8);
    salary.writeDoubleBE(4711);
    assert.ok(!values.some((bytes) => bytes.includes(salary)));
    assert.ok(!values.some((bytes) => bytes.includes(Buffer.from(salary).swap64())));
    assert.ok(stored['Note'] instanceof Uint8Array);
    assert.ok(stored['Salary'] instanceof Uint8Array);
  });

  it('stores equal values as different bytes, in every row and every write', async () => {
    const { table, encrypted } = await fixture();
    const stored = new Set<string>();
    for (const rowKey of ['1', '2', '1']) {
      await encrypted.write({ kind: 'upsert-replace', row: { ...jones, rowKey } });
      const row = await table.get({ partitionKey: 'Sales', rowKey });
      stored.add(JSON.stringify(row?.properties['Note']));
    }
    assert.equal(stored.size, 3);
  });

  it('keeps every value of every type, exactly', async () => {
    const { encrypted } = await fixture();
    await fc.assert(
      fc.asyncProperty(anyRow, async (row) => {
        const encrypt = Object.keys(row.properties);
        await encrypted.write({ kind: 'upsert-replace', row: { ...row, encrypt } });
        assert.deepEqual((await encrypted.get(row))?.properties, row.properties);
      }),
      { numRuns: 20 },
    );
    for (const type of ['Int64', 'Double', 'DateTime'] as const) {
      const [value] = fc.sample(wireValues[type], 1);
      assert.ok(value !== undefined);
      const row = { ...jones, properties: { value }, encrypt: ['value'] };
      await encrypted.write({ kind: 'upsert-replace', row });
      assert.deepEqual((await encrypted.get(row))?.properties, { value });
    }
  });

  it('is refused by a table that does not encrypt, before anything is sent', async () => {
    const { table, requests } = await fixture();
    await assert.rejects(table.write({ kind: 'insert', row: jones }), /encrypt/);
    await assert.rejects(table.transact([{ kind: 'insert', row: jones }]), /encrypt/);
    assert.deepEqual(requests(), []);
  });

  it('can be written back as it was read, and is encrypted again', async () => {
    const { table, encrypted } = await fixture();
    await encrypted.write({ kind: 'insert', row: jones });
    const read = await encrypted.get(jones);
    assert.ok(read !== undefined);
    await encrypted.write({ kind: 'replace', row: read, etag: read.etag });
    assert.equal((await table.get(jones))?.properties['Note']?.type, 'Binary');
    assert.deepEqual((await encrypted.get(jones))?.properties, jones.properties);
    await assert.rejects(table.write({ kind: 'replace', row: read, etag: '*' }), /encrypt/);
  });

  it('is read in part by what is selected', async () => {
    const { encrypted, kek } = await fixture();
    await encrypted.write({ kind: 'insert', row: jones });
    const note = await encrypted.get(jones, ['Note']);
    assert.deepEqual(note?.properties, { Note: text(secret) });
    const name = await encrypted.page({ select: ['Name'] });
    assert.deepEqual(name.rows[0]?.properties, { Name: text('Jones') });
    assert.equal(kek.unwraps, 1, 'nothing is unwrapped when nothing encrypted was selected');
  });

  it('needs the one key that wrapped its content key', async () => {
    const { table, encrypted } = await fixture();
    await encrypted.write({ kind: 'insert', row: jones });
    for (const stranger of [new CountingKey('kek-2'), new CountingKey('kek-1', Buffer.alloc(32))]) {
      const other = withEncryption(table, { keys: keyRing(stranger.kek) });
      await assert.rejects(other.get(jones), EncryptionError);
    }
  });
});

describe('an encrypted row that somebody tampers with', () => {
  const places: readonly [string, Partial<Row>][] = [
    ['another row', { rowKey: 'empid_000124' }],
    ['another partition', { partitionKey: 'Marketing' }],
  ];
  for (const [place, keys] of places) {
    it(`does not decrypt in ${place}`, async () => {
      const { table, encrypted } = await fixture();
      await encrypted.write({ kind: 'insert', row: jones });
      const stored = await table.get(jones);
      assert.ok(stored !== undefined);
      const moved = { ...stored, ...keys };
      await table.write({ kind: 'insert', row: moved });
      await assert.rejects(encrypted.get(moved), /moved from elsewhere/);
    });
  }

  it('does not decrypt in another table', async () => {
    const [from, to] = [await fixture(), await fixture()];
    await from.encrypted.write({ kind: 'insert', row: jones });
    const stored = await from.table.get(jones);
    assert.ok(stored !== undefined);
    await to.table.write({ kind: 'insert', row: stored });
    await assert.rejects(to.encrypted.get(jones), /moved from elsewhere/);
  });

  it('does not decrypt when two of its properties are exchanged', async () => {
    const { table, encrypted } = await fixture();
    await encrypted.write({ kind: 'insert', row: jones });
    const { Note, Salary } = (await table.get(jones))?.properties ?? {};
    assert.ok(Note !== undefined && Salary !== undefined);
    const row = { ...jones, encrypt: [], properties: { Note: Salary, Salary: Note } };
    await table.write({ kind: 'merge', row, etag: '*' });
    await assert.rejects(encrypted.get(jones), /moved from elsewhere/);
  });

  it('does not decrypt when a property is overwritten in plain', async () => {
    const { table, encrypted } = await fixture();
    await encrypted.write({ kind: 'insert', row: jones });
    const row = { ...jones, encrypt: [], properties: { Note: text('mine') } };
    await table.write({ kind: 'merge', row, etag: '*' });
    await assert.rejects(encrypted.get(jones), /overwrote it in plain/);
  });
});

describe('what to encrypt', () => {
  const resolver = (partitionKey: string, rowKey: string, property: string) =>
    partitionKey === 'Sales' && rowKey.startsWith('empid_') && property === 'Name';

  it('is what the resolver chooses, besides what rows mark', async () => {
    const { table, encrypted } = await fixture({ resolver });
    await encrypted.write({ kind: 'insert', row: jones });
    await encrypted.write({ kind: 'insert', row: { ...jones, partitionKey: 'HR', encrypt: [] } });
    const types = async (partitionKey: string) => {
      const row = await table.get({ ...jones, partitionKey });
      return ['Name', 'Note', 'Salary'].map((name) => row?.properties[name]?.type);
    };
    assert.deepEqual(await types('Sales'), ['Binary', 'Binary', 'Binary']);
    assert.deepEqual(await types('HR'), ['String', 'String', 'Double']);
    assert.deepEqual((await encrypted.get(jones))?.properties, jones.properties);
  });

  it('is refused in plain, unless a table is being encrypted', async () => {
    const { table, keys, encrypted } = await fixture({ resolver });
    await table.write({ kind: 'insert', row: { ...jones, encrypt: [] } });
    await assert.rejects(encrypted.get(jones), /'Name' .* is stored in plain/);
    await assert.rejects(encrypted.page({}), EncryptionError);
    const migrating = withEncryption(table, { keys, resolver, unencrypted: 'accept' });
    const read = await migrating.get(jones);
    assert.deepEqual(read?.properties, jones.properties);
    await migrating.write({ kind: 'replace', row: read, etag: read.etag });
    assert.deepEqual((await encrypted.get(jones))?.properties, jones.properties);
  });

  it('leaves rows alone that have nothing to encrypt', async () => {
    const { table, encrypted, kek } = await fixture();
    const row = { ...jones, encrypt: [] };
    await encrypted.write({ kind: 'insert', row });
    assert.deepEqual((await table.get(row))?.properties, jones.properties);
    assert.equal(kek.wraps, 0);
  });

  it('cannot be a property of the name that encryption uses', async () => {
    const { encrypted } = await fixture();
    for (const name of [envelopeProperty, '_ClientEncryptionMetadata1']) {
      const row = { ...jones, properties: { [name]: text('x') }, encrypt: [] };
      await assert.rejects(encrypted.write({ kind: 'insert', row }), EncryptionError);
    }
  });
});

describe('a merge', () => {
  it('of encrypted properties is refused, alone and in a transaction, and changes nothing', async () => {
    const { encrypted, requests } = await fixture();
    await encrypted.write({ kind: 'insert', row: jones });
    requests();
    const writes = [
      { kind: 'merge', row: jones, etag: '*' },
      { kind: 'upsert-merge', row: jones },
    ] as const;
    for (const write of writes) {
      await assert.rejects(encrypted.write(write), /cannot be merged.* Use replace or update/);
      await assert.rejects(encrypted.transact([write]), EncryptionError);
    }
    assert.deepEqual(requests(), []);
  });

  it('of what the resolver chooses is refused', async () => {
    const { encrypted } = await fixture({ resolver: (_pk, _rk, property) => property === 'Name' });
    const row = { ...jones, properties: { Name: text('Smith') }, encrypt: [] };
    await assert.rejects(encrypted.write({ kind: 'upsert-merge', row }), EncryptionError);
  });

  it('of other properties leaves the encrypted ones readable', async () => {
    const { encrypted } = await fixture();
    await encrypted.write({ kind: 'insert', row: jones });
    const row = { ...jones, properties: { Name: text('Smith') }, encrypt: [] };
    await encrypted.write({ kind: 'merge', row, etag: '*' });
    const merged: RowProperties = { ...jones.properties, Name: text('Smith') };
    assert.deepEqual((await encrypted.get(jones))?.properties, merged);
  });
});

describe('key rotation', () => {
  async function rotated() {
    const { table, requests, ...rest } = await fixture();
    await rest.encrypted.write({ kind: 'insert', row: jones });
    const next = new CountingKey('kek-2', Buffer.alloc(32, 2));
    const cache = { entriesMax: 0 };
    const after = withEncryption(table, { keys: keyRing(next.kek, rest.kek), cache });
    const alone = withEncryption(table, { keys: keyRing(next.kek), cache });
    requests();
    return { ...rest, table, requests, next, after, alone };
  }

  it('reads with the old key and writes with the new', async () => {
    const { after, alone } = await rotated();
    assert.deepEqual((await after.get(jones))?.properties, jones.properties);
    await assert.rejects(alone.get(jones), /'kek-1' is not known/);
    await after.write({ kind: 'upsert-replace', row: jones });
    assert.deepEqual((await alone.get(jones))?.properties, jones.properties);
  });

  it('rewraps the content key and touches nothing else', async () => {
    const { table, requests, kek, next, after, alone } = await rotated();
    const before = await table.get(jones);
    requests();
    assert.equal(await after.rewrap(jones), 'rewrapped');
    assert.deepEqual(requests(), ['point-read', 'update']);
    assert.deepEqual([kek.unwraps, next.wraps], [1, 1]);
    const { [envelopeProperty]: envelope, ...content } = (await table.get(jones))?.properties ?? {};
    const { [envelopeProperty]: oldEnvelope, ...oldContent } = before?.properties ?? {};
    assert.deepEqual(content, oldContent);
    assert.notDeepEqual(envelope, oldEnvelope);
    assert.deepEqual((await alone.get(jones))?.properties, jones.properties);
    requests();
    assert.equal(await after.rewrap(jones), 'already-current');
    assert.deepEqual(requests(), ['point-read']);
  });

  it('tells of rows that are absent or not encrypted', async () => {
    const { table, after } = await rotated();
    assert.equal(await after.rewrap({ partitionKey: 'Sales', rowKey: 'none' }), 'absent');
    const row = { ...jones, rowKey: 'plain', encrypt: [] };
    await table.write({ kind: 'insert', row });
    assert.equal(await after.rewrap(row), 'not-encrypted');
  });

  it('never overwrites what was written while it rewrapped', async () => {
    const { table, after, alone, encrypted, kek } = await rotated();
    const changed = { ...jones, properties: { ...jones.properties, Note: text('changed') } };
    const unwrapKey = kek.unwrapKey;
    let unwraps = 0;
    kek.unwrapKey = async (...given) => {
      unwraps += 1;
      if (unwraps === 1) await encrypted.write({ kind: 'upsert-replace', row: changed });
      return unwrapKey(...given);
    };
    assert.equal(await after.rewrap(jones), 'rewrapped');
    assert.equal(unwraps, 2, 'the first attempt met a changed row');
    assert.deepEqual((await alone.get(jones))?.properties, changed.properties);
    assert.equal((await table.get(jones))?.properties['Note']?.type, 'Binary');
  });

  it('leaves the row readable wherever a rewrapping is killed', async () => {
    const requests = await crashEverywhere({
      prepare: rotated,
      run: async ({ table, next, kek }, doomed) => {
        const keys = keyRing(next.kek, kek);
        await withEncryption(doomed.wrap(table), { keys }).rewrap(jones);
      },
      recover: async ({ after }) => {
        assert.deepEqual((await after.get(jones))?.properties, jones.properties);
        await after.rewrap(jones);
      },
      check: async ({ alone }) => {
        assert.deepEqual((await alone.get(jones))?.properties, jones.properties);
      },
    });
    assert.deepEqual(requests, ['get', 'write']);
  });
});

describe('deterministic encryption', () => {
  const people: readonly Row[] = [
    'jonesj@contoso.com',
    'smith@contoso.com',
    'jonesj@contoso.com',
  ].map((email, index) => ({
    partitionKey: 'Sales',
    rowKey: `${index}`,
    properties: { Email: text(email), Note: text(email) },
    encrypt: ['Email', 'Note'],
  }));

  async function deterministic() {
    const { table, keys, kek, client } = await fixture();
    const record = await createDeterministicKey('d1', kek.kek);
    const options = { keys, deterministic: { properties: ['Email'], keys: [record] } };
    const encrypted = withEncryption(table, options);
    await encrypted.transact(people.map((row) => ({ kind: 'insert', row })));
    return { table, keys, kek, client, record, encrypted };
  }

  it('finds rows by the value of an encrypted property', async () => {
    const { encrypted, kek } = await deterministic();
    const filter = await encrypted.equalTo('Email', text('jonesj@contoso.com'));
    const { rows } = await encrypted.page({ filter: filter.toString() });
    assert.deepEqual(
      rows.map(({ rowKey, properties }) => [rowKey, properties]),
      [people[0], people[2]].map((row) => [row?.rowKey, row?.properties]),
    );
    const none = await encrypted.equalTo('Email', text('nobody@contoso.com'));
    assert.deepEqual((await encrypted.page({ filter: none.toString() })).rows, []);
    const deterministicUnwraps = kek.unwraps - 2;
    assert.equal(deterministicUnwraps, 1, 'the key is unwrapped once');
  });

  it('shows which rows share a value, and nothing of the value', async () => {
    const { table, client } = await deterministic();
    const { rows } = await table.page({});
    const emails = rows.map(({ properties }) => JSON.stringify(properties['Email']));
    assert.equal(emails[0], emails[2]);
    assert.notEqual(emails[0], emails[1]);
    const notes = new Set(rows.map(({ properties }) => JSON.stringify(properties['Note'])));
    assert.equal(notes.size, 3, 'other properties stay random');
    const stored = await client.getEntity('Sales', '0');
    const email = stored['Email'];
    assert.ok(email instanceof Uint8Array);
    for (const trace of tracesOf('contoso')) assert.ok(!Buffer.from(email).includes(trace));
  });

  it('looks up what any of its keys wrote, and writes with the first', async () => {
    const { table, keys, kek, record } = await deterministic();
    const next = await createDeterministicKey('d2', kek.kek);
    const encrypted = withEncryption(table, {
      keys,
      deterministic: { properties: ['Email'], keys: [next, record] },
    });
    const [first] = people;
    assert.ok(first !== undefined);
    await encrypted.write({ kind: 'upsert-replace', row: first });
    const filter = await encrypted.equalTo('Email', text('jonesj@contoso.com'));
    const { rows } = await encrypted.page({ filter: filter.toString() });
    assert.deepEqual(
      rows.map(({ rowKey }) => rowKey),
      ['0', '2'],
    );
    const [zero, two] = await Promise.all(
      ['0', '2'].map((rowKey) => table.get({ partitionKey: 'Sales', rowKey })),
    );
    assert.notDeepEqual(zero?.properties['Email'], two?.properties['Email']);
  });

  it('is refused for properties that were not chosen for it', async () => {
    const { encrypted } = await deterministic();
    await assert.rejects(encrypted.equalTo('Note', text('x')), /'Note' cannot be looked up/);
  });

  it('needs the key that the row names', async () => {
    const { table, keys } = await deterministic();
    const without = withEncryption(table, { keys });
    await assert.rejects(without.get({ partitionKey: 'Sales', rowKey: '0' }), /'d1'/);
  });
});

describe('what encryption costs', () => {
  it('is one wrapping a row written and one unwrapping a row read, and no request', async () => {
    const { encrypted, kek, requests } = await fixture();
    const { partitionKey, properties, encrypt = [] } = jones;
    const rows = ['1', '2', '3'].map((rowKey) => ({ partitionKey, rowKey, properties, encrypt }));
    await encrypted.transact(rows.map((row) => ({ kind: 'insert', row })));
    assert.deepEqual([kek.wraps, kek.unwraps], [3, 0]);
    await encrypted.page({});
    assert.deepEqual([kek.wraps, kek.unwraps], [3, 3]);
    assert.deepEqual(requests(), ['transaction', 'query']);
  });

  it('is no more than so many calls at the same time', async () => {
    const { encrypted, kek } = await fixture({ concurrency: 3 });
    const { partitionKey, properties, encrypt = [] } = jones;
    const rows = Array.from({ length: 20 }, (_, index) => `${index}`).map((rowKey) => ({
      partitionKey,
      rowKey,
      properties,
      encrypt,
    }));
    await encrypted.transact(rows.map((row) => ({ kind: 'insert', row })));
    await encrypted.page({});
    assert.equal(kek.wraps + kek.unwraps, 40);
    assert.equal(kek.atOnceMax, 3);
  });

  it('is no unwrapping for rows that were read lately', async () => {
    const clock = manualClock();
    const { encrypted, kek } = await fixture({ cache: {}, clock });
    await encrypted.write({ kind: 'insert', row: jones });
    await encrypted.get(jones);
    await encrypted.get(jones);
    assert.equal(kek.unwraps, 1);
    clock.advanceMicros(300_000_000);
    await encrypted.get(jones);
    assert.equal(kek.unwraps, 2);
  });
});

describe('rows of retired client libraries', () => {
  it('are refused, unless they are to be read', async () => {
    const { table, keys, encrypted } = await fixture();
    const how = '{"WrappedContentKey":null}';
    const properties = { _ClientEncryptionMetadata1: text(how), A: text('a') };
    await table.write({ kind: 'insert', row: { ...jones, properties, encrypt: [] } });
    await assert.rejects(encrypted.get(jones), /pass legacy: 'accept'/);
    await assert.rejects(encrypted.get(jones, ['A']), /pass legacy: 'accept'/);
    const reading = withEncryption(table, { keys, legacy: 'accept' });
    await assert.rejects(reading.get(jones), /a part of it is missing/);
  });
});

describe('errors of the table', () => {
  it('pass through', async () => {
    const { encrypted } = await fixture();
    await encrypted.write({ kind: 'insert', row: jones });
    await assert.rejects(encrypted.write({ kind: 'insert', row: jones }), EntityExistsError);
    assert.equal(await encrypted.get({ partitionKey: 'none', rowKey: 'none' }), undefined);
    await encrypted.write({ kind: 'delete', key: jones, etag: '*' });
    assert.equal(await encrypted.get(jones), undefined);
  });
});
