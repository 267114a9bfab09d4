import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { ErrorCode } from '../../model/errors/registry.js';
import { StorageError } from '../../model/errors/storage-error.js';
import { parseQueryString } from '../http/query-string.js';
import { encodeToken } from './continuation.js';
import { parseEntityQuery, parseEntityRead, parseTableQuery } from './query-options.js';

function refusal(code: ErrorCode, message?: string) {
  return (error: unknown) =>
    error instanceof StorageError &&
    error.code === code &&
    (message === undefined || error.message === message);
}

const entityQuery = (raw: string) => parseEntityQuery(parseQueryString(raw));
const tableQuery = (raw: string) => parseTableQuery(parseQueryString(raw));

const nothing = {
  format: undefined,
  selectText: undefined,
  timeoutSeconds: undefined,
  select: undefined,
};

describe('options of a query of entities', () => {
  it('are all absent from an empty query string', () => {
    assert.deepEqual(entityQuery(''), nothing);
  });

  it('may be present and empty', () => {
    assert.deepEqual(
      entityQuery('$filter=&$select=&$top=&$format=&NextPartitionKey=&NextRowKey=&timeout='),
      { ...nothing, selectText: '' },
    );
  });

  it('hold a filter, a page size, names and a format', () => {
    const query = entityQuery(
      "$filter=PartitionKey%20eq%20'a'&$top=20&$select=a,%20b,a,&$format=application%2Fjson%3Bodata%3Dnometadata",
    );
    assert.equal(query.filter?.kind, 'comparison');
    assert.equal(query.top, 20);
    assert.deepEqual(query.select, ['a', 'b']);
    assert.equal(query.selectText, 'a, b,a,');
    assert.equal(query.format, 'application/json;odata=nometadata');
  });

  it('select everything by a star', () => {
    assert.equal(entityQuery('$select=*').select, undefined);
    assert.equal(entityQuery('$select=*').selectText, '*');
    assert.equal(entityQuery('$select=a,*').select, undefined);
  });

  it('name where to go on, with or without a row key', () => {
    const partition = `NextPartitionKey=${encodeToken('p')}`;
    assert.deepEqual(entityQuery(`${partition}&NextRowKey=${encodeToken('r')}`).from, {
      partitionKey: 'p',
      rowKey: 'r',
    });
    assert.deepEqual(entityQuery(`${partition}&NextRowKey=1!0!`).from, {
      partitionKey: 'p',
      rowKey: '',
    });
    assert.deepEqual(entityQuery(partition).from, { partitionKey: 'p' });
    assert.deepEqual(entityQuery(`${partition}&NextRowKey=`).from, { partitionKey: 'p' });
    assert.throws(() => entityQuery('NextPartitionKey=nonsense'), refusal('InvalidInput'));
  });

  it('bound the page size', () => {
    for (const top of [0, 1, 999, 1000]) assert.equal(entityQuery(`$top=${top}`).top, top);
    for (const top of ['1001', '-1', 'x', '1.5', '+1', '1e2', '99999999999999999999']) {
      assert.throws(
        () => entityQuery(`$top=${encodeURIComponent(top)}`),
        refusal('InvalidInput', 'One of the request inputs is not valid.'),
      );
    }
  });

  it('bound the time', () => {
    assert.equal(entityQuery('timeout=10').timeoutSeconds, 10);
    assert.equal(entityQuery('timeout=31').timeoutSeconds, 30);
    assert.equal(entityQuery('timeout=0').timeoutSeconds, 30);
    for (const text of ['x', '-1', '1.5']) {
      assert.throws(() => entityQuery(`timeout=${text}`), refusal('InvalidQueryParameterValue'));
    }
  });

  it('bound the names that are selected', () => {
    const list = (count: number) => Array.from({ length: count }, (_, i) => `p${i}`).join(',');
    assert.equal(entityQuery(`$select=${list(255)}`).select?.length, 255);
    assert.throws(() => entityQuery(`$select=${list(256)}`), refusal('InvalidInput'));
  });

  it('are not those that the service lacks, but may be unknown', () => {
    for (const name of ['$orderby', '$skip', '$expand', '$count', '$inlinecount']) {
      assert.throws(() => entityQuery(`${name}=x`), refusal('NotImplemented'));
      assert.throws(() => tableQuery(`${name}=x`), refusal('NotImplemented'));
    }
    assert.deepEqual(entityQuery('$foo=1&api-version=2&__proto__=x'), nothing);
  });
});

describe('options of a get', () => {
  it('are what changes the rendering, and nothing else', () => {
    const options = parseQueryString('$select=a&$filter=)&$top=x&NextRowKey=x&$format=json');
    assert.deepEqual(parseEntityRead(options), {
      format: 'json',
      select: ['a'],
      selectText: 'a',
      timeoutSeconds: undefined,
    });
  });
});

describe('options of a query of tables', () => {
  it('hold a filter and where to go on', () => {
    const query = tableQuery(
      `$filter=TableName%20ge%20'p'&$top=5&NextTableName=${encodeToken('t')}`,
    );
    assert.equal(query.filter?.kind, 'comparison');
    assert.equal(query.top, 5);
    assert.equal(query.from, 't');
  });

  it("go on from the service's own tokens", () => {
    const token = '1!40!dGFibGUzNTg2MTlkMgEwMWQzNTljZGFiMWI3OTg1';
    assert.equal(tableQuery(`NextTableName=${token}`).from, 'table358619d2');
  });
});

describe('hostile query strings', () => {
  it('never fail in another way', () => {
    const parts = fc.array(
      fc.constantFrom(
        '$filter',
        '$select',
        '$top',
        'NextRowKey',
        '=',
        '&',
        '%',
        '%27',
        "'",
        'a',
        '+',
      ),
      { maxLength: 20 },
    );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          parts.map((all) => all.join('')),
        ),
        (raw) => {
          try {
            entityQuery(raw);
            tableQuery(raw);
          } catch (error) {
            assert.ok(error instanceof StorageError);
          }
        },
      ),
      { numRuns: 250 },
    );
  });
});
