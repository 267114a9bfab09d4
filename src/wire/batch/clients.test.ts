import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseBatch, type Batch } from './parse-batch.js';
import type { BatchOperation } from './part-reader.js';

// One batch in the shape of each client of table-service §9.7.

const outer = 'multipart/mixed; boundary=batch_1';
const host = 'https://acct.table.core.windows.net';
const entity = '{"PartitionKey":"p","RowKey":"r"}';

function parse(lines: readonly string[], contentType = outer, lineEnd = '\r\n'): Batch {
  return parseBatch(Buffer.from(lines.join(lineEnd)), contentType);
}

function changeset(batch: Batch): readonly BatchOperation[] {
  assert.equal(batch.kind, 'changeset');
  return batch.kind === 'changeset' ? batch.operations : [];
}

/** The parts of an operation that can be compared, with the named headers. */
function shown(operation: BatchOperation, ...names: string[]): unknown[] {
  const { method, target, contentId, headers } = operation;
  return [method, target, operation.text(), contentId, ...names.map((name) => headers.get(name))];
}

describe('batches as clients send them', () => {
  it('the documented form', () => {
    const operations = changeset(
      parse([
        '--batch_1',
        'Content-Type: multipart/mixed; boundary=changeset_2',
        '',
        '--changeset_2',
        'Content-Type: application/http',
        'Content-Transfer-Encoding: binary',
        '',
        `POST ${host}/Blogs HTTP/1.1`,
        'Content-Type: application/json',
        'Accept: application/json;odata=minimalmetadata',
        'Prefer: return-no-content',
        'DataServiceVersion: 3.0;',
        '',
        entity,
        '--changeset_2',
        'Content-Type: application/http',
        'Content-Transfer-Encoding: binary',
        '',
        `DELETE ${host}/Blogs(PartitionKey='Channel_19',RowKey='3') HTTP/1.1`,
        'Accept: application/json;odata=minimalmetadata',
        'If-Match: *',
        '',
        '--changeset_2--',
        '--batch_1--',
        '',
      ]),
    );
    assert.deepEqual(
      operations.map((operation) => shown(operation, 'accept', 'prefer', 'if-match')),
      [
        [
          'POST',
          `${host}/Blogs`,
          entity,
          undefined,
          'application/json;odata=minimalmetadata',
          'return-no-content',
          undefined,
        ],
        [
          'DELETE',
          `${host}/Blogs(PartitionKey='Channel_19',RowKey='3')`,
          '',
          undefined,
          'application/json;odata=minimalmetadata',
          undefined,
          '*',
        ],
      ],
    );
  });

  it('JavaScript: lower-case MIME headers and more blank lines', () => {
    const [operation, ...more] = changeset(
      parse([
        '--batch_1',
        'content-type: multipart/mixed; boundary=changeset_2',
        '',
        '',
        '--changeset_2',
        'content-type: application/http',
        'content-transfer-encoding: binary',
        '',
        'POST http://127.0.0.1:10002/devstoreaccount1/people HTTP/1.1',
        'accept: application/json;odata=minimalmetadata',
        'content-type: application/json;odata=nometadata',
        'prefer: return-no-content',
        '',
        '',
        entity,
        '--changeset_2--',
        '--batch_1--',
      ]),
    );
    assert.ok(operation && more.length === 0);
    assert.deepEqual(shown(operation, 'prefer'), [
      'POST',
      'http://127.0.0.1:10002/devstoreaccount1/people',
      entity,
      undefined,
      'return-no-content',
    ]);
  });

  it('.NET: quoted boundaries, a query in the target, Host inside', () => {
    const url = `${host}/t(PartitionKey='p',RowKey='r')?$format=application%2Fjson%3Bodata%3Dminimalmetadata`;
    const [operation] = changeset(
      parse(
        [
          '--batch_1',
          'Content-Type: multipart/mixed; boundary="changeset_2"',
          '',
          '--changeset_2',
          'Content-Type: application/http',
          'Content-Transfer-Encoding: binary',
          '',
          `PATCH ${url} HTTP/1.1`,
          'Host: acct.table.core.windows.net',
          'If-Match: *',
          'Accept: application/json',
          '',
          entity,
          '--changeset_2--',
          '',
          '--batch_1--',
          '',
        ],
        'multipart/mixed; boundary="batch_1"',
      ),
    );
    assert.ok(operation);
    assert.deepEqual(shown(operation, 'if-match'), ['PATCH', url, entity, undefined, '*']);
  });

  it('Python: Content-ID as a MIME header only, Content-Length inside', () => {
    const operations = changeset(
      parse([
        '--batch_1',
        'Content-Type: multipart/mixed; boundary=changeset_2',
        '',
        ...[0, 1].flatMap((index) => [
          '--changeset_2',
          'Content-Type: application/http',
          'Content-Transfer-Encoding: binary',
          `Content-ID: ${index}`,
          '',
          `PATCH ${host}/t(PartitionKey='p',RowKey='${index}') HTTP/1.1`,
          'x-ms-version: 2019-02-02',
          `Content-Length: ${entity.length}`,
          'x-ms-date: Fri, 21 Nov 2025 10:00:00 GMT',
          'Date: Fri, 21 Nov 2025 10:00:00 GMT',
          '',
          entity,
        ]),
        '--changeset_2--',
        '--batch_1--',
        '',
      ]),
    );
    assert.deepEqual(
      operations.map((operation) => [operation.contentId, operation.text()]),
      [
        [undefined, entity],
        [undefined, entity],
      ],
    );
  });

  it('legacy Python: paths only, Content-ID inside, a wrong Content-Length', () => {
    const operations = changeset(
      parse([
        '--batch_1',
        'Content-Type: multipart/mixed; boundary=changeset_2',
        '',
        ...[1, 2].flatMap((id) => [
          '--changeset_2',
          'Content-Type: application/http',
          'Content-Transfer-Encoding: binary',
          '',
          `MERGE /t(PartitionKey='p',RowKey='r') HTTP/1.1`,
          `Content-ID: ${id}`,
          `Content-Length: ${id === 1 ? 3 : 9999}`,
          '',
          entity,
          '',
        ]),
        '--changeset_2--',
        '--batch_1--',
      ]),
    );
    assert.deepEqual(
      operations.map((operation) => shown(operation)),
      ['1', '2'].map((id) => ['MERGE', "/t(PartitionKey='p',RowKey='r')", entity, id]),
    );
  });

  it('Go: sorted headers, Content-Transfer-Encoding first', () => {
    const [operation] = changeset(
      parse([
        '--batch_1',
        'Content-Type: multipart/mixed; boundary=changeset_2',
        '',
        '--changeset_2',
        'Content-Transfer-Encoding: binary',
        'Content-Type: application/http',
        '',
        `PUT ${host}/t(PartitionKey='p',RowKey='r') HTTP/1.1`,
        'Accept: application/json;odata=minimalmetadata',
        'Content-Type: application/json',
        'Dataserviceversion: 3.0',
        '',
        entity,
        '--changeset_2--',
        '',
        '--batch_1--',
        '',
      ]),
    );
    assert.equal(operation?.headers.get('dataserviceversion'), '3.0');
    assert.equal(operation.method, 'PUT');
  });

  it('Java: path-only targets, and the batch boundary beginning like the changeset one', () => {
    const [operation] = changeset(
      parse(
        [
          '--b',
          'Content-Type: multipart/mixed; boundary=b_changeset',
          '',
          '--b_changeset',
          'Content-Type: application/http',
          'Content-Transfer-Encoding: binary',
          '',
          'POST /t HTTP/1.1',
          'Content-Type: application/json;odata=nometadata',
          '',
          entity,
          '--b_changeset--',
          '--b--',
        ],
        'multipart/mixed; boundary=b',
      ),
    );
    assert.deepEqual(operation && shown(operation), ['POST', '/t', entity, undefined]);
  });

  it('legacy Node: LF only, a charset before the boundary, %27, Content-ID from the second', () => {
    const operations = changeset(
      parse(
        [
          '--batch_1',
          'content-type: multipart/mixed;charset="utf-8";boundary=changeset_2',
          '',
          ...[0, 1].flatMap((index) => [
            '--changeset_2',
            'content-type: application/http',
            'content-transfer-encoding: binary',
            '',
            `PUT ${host}/t(PartitionKey=%27p%27,RowKey=%27${index}%27) HTTP/1.1`,
            index > 0 ? `content-id: ${index}` : 'user-agent: none',
            'content-type: application/json;type=entry',
            'accept: application/json;odata=minimalmetadata',
            '',
            entity,
          ]),
          '--changeset_2--',
          '--batch_1--',
        ],
        'multipart/mixed; charset="utf-8"; boundary=batch_1',
        '\n',
      ),
    );
    assert.deepEqual(
      operations.map((operation) => shown(operation, 'content-type')),
      [0, 1].map((index) => [
        'PUT',
        `${host}/t(PartitionKey=%27p%27,RowKey=%27${index}%27)`,
        entity,
        index > 0 ? '1' : undefined,
        'application/json;type=entry',
      ]),
    );
  });

  it('legacy Node: a single retrieve as a GET outside a changeset', () => {
    const batch = parse(
      [
        '--batch_1',
        'content-type: application/http',
        'content-transfer-encoding: binary',
        '',
        `GET ${host}/t(PartitionKey=%27p%27,RowKey=%27r%27) HTTP/1.1`,
        'accept: application/json;odata=minimalmetadata',
        '',
        '--batch_1--',
      ],
      outer,
      '\n',
    );
    assert.ok(batch.kind === 'query');
    assert.deepEqual(shown(batch.operation), [
      'GET',
      `${host}/t(PartitionKey=%27p%27,RowKey=%27r%27)`,
      '',
      undefined,
    ]);
  });

  it('Cosmos Table: MERGE tunnelled through POST, a body of keys only', () => {
    const [operation] = changeset(
      parse([
        '--batch_1',
        'Content-Type: multipart/mixed; boundary=changeset_2',
        '',
        '--changeset_2',
        'Content-Type: application/http',
        'Content-Transfer-Encoding: binary',
        '',
        `POST ${host}/t(PartitionKey=%27p%27,RowKey=%27r%27) HTTP/1.1`,
        'X-HTTP-Method: MERGE',
        'Accept: application/json;odata=nometadata',
        'Content-ID: 0',
        '',
        entity,
        '--changeset_2--',
        '--batch_1--',
        '',
      ]),
    );
    assert.deepEqual(operation && shown(operation, 'x-http-method').slice(3), ['0', 'MERGE']);
  });
});
