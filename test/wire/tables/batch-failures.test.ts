import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  assertChangesetDone,
  assertMalformedBatch,
  changesetBody,
  changesetError,
  changesetParts,
  deleteOperation,
  insertOperation,
  plainBatchBody,
  sendBatch,
  sendChangeset,
  writeOperation,
  type Operation,
} from '../kit/batch.js';
import { entityPath } from '../kit/client.js';
import { refusedAt, assertFrontDoorError, assertJsonError, refusals } from '../kit/errors.js';
import { startFixture } from '../kit/server.js';

// table-service §9.1, §9.5 and §9.6: the response to a batch that fails, which must change nothing.

const { client } = await startFixture();
const { base } = client;

const stale = `W/"datetime'2001-01-01T00%3A00%3A00Z'"`;
const keys = { PartitionKey: 'p' };

interface Failure {
  readonly name: string;
  /** An operation that fails on a table with one entity, whose row key is `there`. */
  readonly operation: (table: string) => Operation;
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly layer: 'validation' | 'storage';
}

const tooLong = 'x'.repeat(32_769);
const failures: readonly Failure[] = [
  {
    name: 'TableNotFound',
    operation: () => insertOperation('nowhere', { ...keys, RowKey: 'r' }),
    ...refusals.tableNotFound,
    layer: 'validation',
  },
  {
    name: 'PropertiesNeedValue',
    operation: (table) => insertOperation(table, keys),
    ...refusals.propertiesNeedValue,
    layer: 'validation',
  },
  {
    name: 'OutOfRangeInput of a key',
    operation: (table) => insertOperation(table, { ...keys, RowKey: 'a/b' }),
    status: 400,
    code: 'OutOfRangeInput',
    message: "The 'RowKey' parameter of value 'a/b' is out of range.",
    layer: 'validation',
  },
  {
    name: 'InvalidInput of a value',
    operation: (table) =>
      insertOperation(table, { ...keys, RowKey: 'r', 'n@odata.type': 'Edm.Int64', n: 'x' }),
    ...refusals.bodyNotParseable,
    layer: 'validation',
  },
  {
    name: 'InvalidInput of JSON',
    operation: (table) => ({ ...insertOperation(table, {}), body: '{"PartitionKey":' }),
    ...refusals.bodyNotParseable,
    layer: 'validation',
  },
  {
    name: 'InvalidInput of an etag',
    operation: (table) => writeOperation('MERGE', table, ['p', 'there'], {}, 'wrong'),
    status: 400,
    code: 'InvalidInput',
    message:
      "The etag value 'wrong' specified in one of the request headers is not valid. Please make sure only one etag value is specified and is valid.",
    layer: 'validation',
  },
  {
    name: 'EntityAlreadyExists',
    operation: (table) => insertOperation(table, { ...keys, RowKey: 'there' }),
    ...refusals.entityExists,
    layer: 'storage',
  },
  {
    name: 'UpdateConditionNotSatisfied',
    operation: (table) => writeOperation('PUT', table, ['p', 'there'], {}, stale),
    ...refusals.updateCondition,
    layer: 'storage',
  },
  {
    name: 'ResourceNotFound of an update',
    operation: (table) => writeOperation('MERGE', table, ['p', 'missing'], {}, '*'),
    ...refusals.resourceNotFound,
    layer: 'storage',
  },
  {
    name: 'ResourceNotFound of a delete',
    operation: (table) => deleteOperation(table, ['p', 'missing']),
    ...refusals.resourceNotFound,
    layer: 'storage',
  },
  {
    name: 'PropertyValueTooLarge',
    operation: (table) => insertOperation(table, { ...keys, RowKey: 'r', v: tooLong }),
    ...refusals.valueTooLarge,
    layer: 'storage',
  },
];

async function tableWithOne(): Promise<string> {
  const table = await client.newTable();
  await client.put(table, { ...keys, RowKey: 'there', n: 1 });
  return table;
}

/** Checks that the table has the content from before. */
async function assertUntouched(table: string, before: string): Promise<void> {
  assert.equal((await client.query(table)).text, before);
}

for (const { name, operation, status, code, message, layer } of failures) {
  describe(`a changeset that fails with ${name}`, () => {
    it(`alone: ${layer === 'validation' ? 'index 0' : 'no index'}`, async () => {
      const table = await tableWithOne();
      const before = (await client.query(table)).text;
      const response = await sendChangeset(client, [operation(table)]);
      const expected = layer === 'validation' ? `0:${message}` : message;
      assert.deepEqual(changesetError(response), { status, code, message: expected });
      await assertUntouched(table, before);
    });

    if (code === 'TableNotFound') return;

    for (const index of [0, 1, 4]) {
      it(`at position ${index} of five: index ${index}, and nothing is applied`, async () => {
        const table = await tableWithOne();
        const before = (await client.query(table)).text;
        const operations = Array.from({ length: 5 }, (_, position) =>
          position === index
            ? operation(table)
            : insertOperation(table, { ...keys, RowKey: `other${position}` }),
        );
        const response = await sendChangeset(client, operations);
        assert.deepEqual(changesetError(response), {
          status,
          code,
          message: `${index}:${message}`,
        });
        await assertUntouched(table, before);
      });
    }

    const isUnderstood = layer === 'storage' || code === 'PropertiesNeedValue';
    it(`${isUnderstood ? 'has' : 'lacks'} Cache-Control in its part`, async () => {
      const table = await tableWithOne();
      const [part] = changesetParts(await sendChangeset(client, [operation(table)]));
      assert.equal(/^Cache-Control: no-cache\r$/m.test(part?.head ?? ''), isUnderstood);
      assert.match(part?.head ?? '', /^X-Content-Type-Options: nosniff\r$/m);
      assert.match(part?.head ?? '', /^DataServiceVersion: 3\.0;\r$/m);
    });
  });
}

describe('rules of a changeset (table-service §9.1)', () => {
  const inserts = (table: string, count: number) =>
    Array.from({ length: count }, (_, index) =>
      insertOperation(table, { ...keys, RowKey: `r${String(index).padStart(3, '0')}` }),
    );

  it('TableNotFound of several operations names the first', async () => {
    const response = await sendChangeset(client, inserts('nowhere', 3));
    assert.deepEqual(changesetError(response), refusedAt(0, refusals.tableNotFound));
  });

  for (const position of [1, 2]) {
    it(`the same entity twice, at position ${position}: InvalidDuplicateRow`, async () => {
      const table = await client.newTable();
      const operations = inserts(table, position);
      const again = { ...keys, RowKey: 'r000' };
      const response = await sendChangeset(client, [...operations, insertOperation(table, again)]);
      assert.deepEqual(changesetError(response), refusedAt(position, refusals.duplicateRow));
      assert.deepEqual(await client.rowKeys(table), []);
    });
  }

  it('a delete and an insert of the same entity are a duplicate too', async () => {
    const table = await tableWithOne();
    const response = await sendChangeset(client, [
      deleteOperation(table, ['p', 'there']),
      insertOperation(table, { ...keys, RowKey: 'there' }),
    ]);
    assert.equal(changesetError(response).code, 'InvalidDuplicateRow');
  });

  it('row keys that differ in case are different entities', async () => {
    const table = await client.newTable();
    const operations = ['a', 'A'].map((RowKey) => insertOperation(table, { ...keys, RowKey }));
    assertChangesetDone(await sendChangeset(client, operations), [204, 204]);
  });

  it('two partitions: CommandsInBatchActOnDifferentPartitions', async () => {
    const table = await client.newTable();
    const response = await sendChangeset(client, [
      insertOperation(table, { PartitionKey: 'p1', RowKey: 'r' }),
      insertOperation(table, { PartitionKey: 'p2', RowKey: 'r' }),
    ]);
    assert.deepEqual(changesetError(response), refusedAt(1, refusals.otherPartition));
    assert.deepEqual(await client.rowKeys(table), []);
  });

  it('two tables: CommandsInBatchActOnDifferentPartitions (choice of this server)', async () => {
    const first = await client.newTable();
    const second = await client.newTable();
    const response = await sendChangeset(client, [
      insertOperation(first, { ...keys, RowKey: 'r' }),
      insertOperation(second, { ...keys, RowKey: 's' }),
    ]);
    assert.equal(changesetError(response).code, 'CommandsInBatchActOnDifferentPartitions');
    assert.deepEqual(await client.rowKeys(first), []);
    assert.deepEqual(await client.rowKeys(second), []);
  });

  it('one table in two spellings is one table', async () => {
    const table = await client.newTable();
    const response = await sendChangeset(client, [
      insertOperation(table, { ...keys, RowKey: 'r' }),
      insertOperation(table.toUpperCase(), { ...keys, RowKey: 's' }),
    ]);
    assertChangesetDone(response, [204, 204]);
  });

  it('100 operations pass, 101 are InvalidInput with index 99', async () => {
    const table = await client.newTable();
    const statuses = Array.from({ length: 100 }, () => 204);
    assertChangesetDone(await sendChangeset(client, inserts(table, 100)), statuses);
    const other = await client.newTable();
    const response = await sendChangeset(client, inserts(other, 101));
    assert.deepEqual(changesetError(response), refusedAt(99, refusals.tooManyOperations));
    assert.deepEqual(await client.rowKeys(other), []);
  });

  it('the first failing operation is the one that is answered', async () => {
    const table = await tableWithOne();
    const response = await sendChangeset(client, [
      insertOperation(table, { ...keys, RowKey: 'a' }),
      writeOperation('PUT', table, ['p', 'there'], {}, stale),
      deleteOperation(table, ['p', 'missing']),
    ]);
    assert.deepEqual(changesetError(response), refusedAt(1, refusals.updateCondition));
  });

  it('of two validation errors the first one is answered', async () => {
    const table = await client.newTable();
    const [insert] = inserts(table, 1);
    assert.ok(insert);
    const response = await sendChangeset(client, [insert, insert, { ...insert, body: '{' }]);
    const { code, message } = changesetError(response);
    assert.deepEqual(
      [code, message],
      ['InvalidDuplicateRow', `1:${refusals.duplicateRow.message}`],
    );
  });

  it('a date out of range carries 0: on an insert', async () => {
    const table = await client.newTable();
    const value = { 'd@odata.type': 'Edm.DateTime', d: '1500-01-02T03:04:05Z' };
    const operation = insertOperation(table, { ...keys, RowKey: 'r', ...value });
    assert.deepEqual(changesetError(await sendChangeset(client, [operation])), {
      status: 400,
      code: 'OutOfRangeInput',
      message: "0:The 'd' parameter of value '01/02/1500 03:04:05' is out of range.",
    });
  });

  // For updates another layer of the service finds this error than for inserts (table-service
  // §9.5).
  it('a date out of range carries no index on a single merge or replace', async () => {
    const table = await client.newTable();
    const value = { 'd@odata.type': 'Edm.DateTime', d: '1500-01-02T03:04:05Z' };
    for (const method of ['MERGE', 'PUT'] as const) {
      const operation = writeOperation(method, table, ['p', 'r'], value);
      assert.deepEqual(changesetError(await sendChangeset(client, [operation])), {
        status: 400,
        code: 'OutOfRangeInput',
        message: "The 'd' parameter of value '01/02/1500 03:04:05' is out of range.",
      });
    }
  });

  it('a stale etag is 412 for every kind of write', async () => {
    const table = await tableWithOne();
    const before = (await client.query(table)).text;
    for (const operation of [
      writeOperation('MERGE', table, ['p', 'there'], {}, stale),
      writeOperation('PATCH', table, ['p', 'there'], {}, stale),
      deleteOperation(table, ['p', 'there'], stale),
    ]) {
      const { code } = changesetError(await sendChangeset(client, [operation]));
      assert.equal(code, 'UpdateConditionNotSatisfied');
    }
    await assertUntouched(table, before);
  });

  it('a replacement and a deletion before the failing operation are not applied', async () => {
    const table = await tableWithOne();
    await client.put(table, { ...keys, RowKey: 'too', n: 1.5, text: 'x' });
    const before = (await client.query(table)).text;
    const response = await sendChangeset(client, [
      writeOperation('PUT', table, ['p', 'there'], { n: 2 }, '*'),
      deleteOperation(table, ['p', 'too']),
      deleteOperation(table, ['p', 'missing']),
    ]);
    assert.equal(changesetError(response).status, 404);
    await assertUntouched(table, before);
  });
});

describe('malformed batches (table-service §9.6)', () => {
  const insert = insertOperation('people', { ...keys, RowKey: 'r' });
  const get: Operation = { method: 'GET', path: entityPath('people', 'p', 'r') };
  const whole = changesetBody(base, [insert]);
  const empty =
    '--batch_1\r\nContent-Type: multipart/mixed; boundary=changeset_1\r\n\r\n--changeset_1--\r\n--batch_1--\r\n';
  const changeset = whole.slice(0, whole.lastIndexOf('--batch_'));
  const cases: readonly (readonly [name: string, body: string])[] = [
    ['nothing', ''],
    ['text without a boundary', 'hello'],
    ['another boundary', whole.replaceAll('batch_a1e9', 'batch_ffff')],
    ['no closing boundary', whole.slice(0, whole.lastIndexOf('--changeset_'))],
    ['a part without a request', whole.replace(/POST [^]*?\}\r\n/, '')],
    ['a request line without version', whole.replace(' HTTP/1.1', '')],
    ['two queries', plainBatchBody(base, [get, get])],
    ['a write outside a changeset', plainBatchBody(base, [insert])],
    ['a query after a changeset', changeset + plainBatchBody(base, [get])],
    ['two changesets (choice of this server)', changeset + whole],
    ['a verb that is none', whole.replace('POST', 'FROBNICATE')],
  ];
  for (const [name, body] of cases) {
    it(name, async () => {
      assertMalformedBatch(await sendBatch(client, body));
    });
  }

  for (const operations of [[get], [get, insert], [insert, get]]) {
    const methods = operations.map(({ method }) => method).join(', ');
    it(`${methods} in a changeset is 400 InvalidInput, and nothing is applied`, async () => {
      const table = await tableWithOne();
      const before = (await client.query(table)).text;
      const body = changesetBody(base, operations).replaceAll('/people', `/${table}`);
      const { status, code } = changesetError(await sendBatch(client, body));
      assert.deepEqual({ status, code }, { status: 400, code: 'InvalidInput' });
      await assertUntouched(table, before);
    });
  }

  it('an empty changeset (choice of this server)', async () => {
    assertMalformedBatch(await sendBatch(client, empty, 'multipart/mixed; boundary=batch_1'));
  });

  it('a Content-Type without boundary or of another kind is a 4xx', async () => {
    for (const type of ['multipart/mixed', 'application/json', 'multipart/mixed; boundary=']) {
      const response = await sendBatch(client, whole, type);
      assert.ok([202, 400, 415].includes(response.status), response.text);
      if (response.status === 202) assertMalformedBatch(response);
    }
  });
});

describe('errors of the outer request', () => {
  it('a signature that is wrong is a plain 403', async () => {
    const headers = { Authorization: `SharedKeyLite ${client.account}:AAAA` };
    const body = changesetBody(base, [insertOperation('people', { ...keys, RowKey: 'r' })]);
    assertFrontDoorError(
      await sendBatch(client, body, undefined, headers),
      refusals.authenticationFailed,
    );
  });

  const mebibytes4 = 4 * 1024 * 1024;

  /** A valid batch of exactly `bytes` bytes: 100 inserts, the last padded with white space. */
  function batchOf(table: string, bytes: number): string {
    const value = 'x'.repeat(30_000);
    const operations = Array.from({ length: 100 }, (_, index) =>
      insertOperation(table, { ...keys, RowKey: `r${index}`, value }),
    );
    const body = changesetBody(base, operations);
    const at = body.lastIndexOf('}');
    return `${body.slice(0, at)}${' '.repeat(bytes - body.length)}${body.slice(at)}`;
  }

  it('4 MiB pass', async () => {
    const table = await client.newTable();
    const statuses = Array.from({ length: 100 }, () => 204);
    assertChangesetDone(await sendBatch(client, batchOf(table, mebibytes4)), statuses);
  });

  it('4 MiB and a byte are 413 RequestBodyTooLarge, and nothing is stored', async () => {
    const table = await client.newTable();
    assertJsonError(await sendBatch(client, batchOf(table, mebibytes4 + 1)), refusals.tooLargeBody);
    assert.deepEqual(await client.rowKeys(table), []);
  });
});

describe('what fails in a changeset after it was understood', () => {
  it('says Cache-Control and the preference of the insert that failed', async () => {
    const table = await client.newTable();
    const twice = { ...keys, RowKey: 'twice' };
    const same = await sendChangeset(client, [
      insertOperation(table, twice),
      insertOperation(table, twice),
    ]);
    assert.match(same.text, /nosniff\r\nCache-Control: no-cache\r\n[^]*InvalidDuplicateRow/);
    const many = Array.from({ length: 101 }, (_, index) =>
      insertOperation(table, { ...keys, RowKey: `${index}` }),
    );
    assert.match(
      (await sendChangeset(client, many)).text,
      /Cache-Control: no-cache\r\nPreference-Applied: return-no-content\r\n[^]*"value":"99:/,
    );
    const missing = await sendChangeset(client, [insertOperation('nowhere', twice)]);
    assert.doesNotMatch(changesetParts(missing)[0]?.head ?? '', /Cache-Control/);
  });
});
