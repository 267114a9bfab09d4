import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { forbiddenKeyCharacterAt } from '../../model/edm/key.js';
import { hasLoneSurrogate } from '../../model/bag/text.js';
import { StorageError } from '../../model/errors/storage-error.js';
import { entityPath, parseResourcePath } from './resource.js';

const querySyntax = (error: unknown) =>
  error instanceof StorageError &&
  error.code === 'InvalidInput' &&
  error.message === 'Bad Request - Error in query syntax.';

const outOfRange = (error: unknown) =>
  error instanceof StorageError &&
  error.code === 'OutOfRangeInput' &&
  error.message === 'One of the request inputs is out of range.';

const entity = (partitionKey: string, rowKey: string) => ({
  kind: 'entity',
  table: 't',
  partitionKey,
  rowKey,
});

const legalKey = fc
  .string({ unit: 'binary', maxLength: 30 })
  .map((text) => text.replaceAll(/[/\\#?\p{Cc}]/gu, ''))
  .filter((text) => !hasLoneSurrogate(text));

const namedKeys = [
  '',
  "'",
  "''",
  '%',
  '%25',
  '%2F',
  'a b',
  '+',
  'ü',
  '日本',
  '😀',
  ')',
  "',RowKey='x",
];

describe('paths of the service', () => {
  for (const [path, expected] of [
    ['', { kind: 'service' }],
    ['/', { kind: 'service' }],
    ['/Tables', { kind: 'tables' }],
    ['Tables', { kind: 'tables' }],
    ['//Tables', { kind: 'tables' }],
    ['/Tables()', { kind: 'tables' }],
    ['/tables', { kind: 'tables' }],
    ["/Tables('mytable')", { kind: 'table-entry', name: 'mytable' }],
    ['/Tables(%27mytable%27)', { kind: 'table-entry', name: 'mytable' }],
    ["/TABLES('my''t')", { kind: 'table-entry', name: "my't" }],
    ["/Tables('')", { kind: 'table-entry', name: '' }],
    ['/$batch', { kind: 'batch' }],
    ['/%24batch', { kind: 'batch' }],
    ['/people', { kind: 'entities', table: 'people' }],
    ['/people()', { kind: 'entities', table: 'people' }],
    ['/people( )', { kind: 'entities', table: 'people' }],
    ['/no-name', { kind: 'entities', table: 'no-name' }],
    ["/t(PartitionKey='p',RowKey='r')", entity('p', 'r')],
    ["/t(PartitionKey='p', RowKey='r')", entity('p', 'r')],
    ["/t(PartitionKey='p',%20RowKey='r')", entity('p', 'r')],
    ["/t( PartitionKey = 'p' , RowKey = 'r' )", entity('p', 'r')],
    ["/t(RowKey='r',PartitionKey='p')", entity('p', 'r')],
    ["/t(PartitionKey='',RowKey='')", entity('', '')],
    ["/t(PartitionKey='O''Neil',RowKey='''')", entity("O'Neil", "'")],
    ['/t(PartitionKey=%27O%27%27Neil%27,RowKey=%27%27%27%27)', entity("O'Neil", "'")],
    ["/t(PartitionKey='a%252Fb',RowKey='%25')", entity('a%2Fb', '%')],
    ["/t(PartitionKey=''',RowKey=''x',RowKey='r')", entity("',RowKey='x", 'r')],
    ["/t(PartitionKey='a)',RowKey='(=,')", entity('a)', '(=,')],
    ["/t(PartitionKey='%C3%BC',RowKey='%F0%9F%98%80')", entity('ü', '😀')],
    ["/t(PartitionKey='a+b',RowKey='&%22<')", entity('a+b', '&"<')],
  ] as const) {
    it(`are understood: ${path}`, () => {
      assert.deepEqual(parseResourcePath(path), expected);
    });
  }

  for (const path of [
    '/a/b',
    '/t(',
    '/t(x)',
    '/(PartitionKey=%27p%27,RowKey=%27r%27)',
    "/t(PartitionKey='p')",
    "/t(PartitionKey='p',PartitionKey='p')",
    "/t(PartitionKey='p',RowKey='r',RowKey='r')",
    "/t(PartitionKey='p' RowKey='r')",
    "/t(PartitionKey='p';RowKey='r')",
    "/t(PartitionKey:'p',RowKey='r')",
    "/t(PartitionKey=p,RowKey='r')",
    "/t(PartitionKey='p',RowKey='r'",
    "/t(PartitionKey='p',RowKey='r')x",
    "/t(PartitionKey='p',RowKey='r''')x)",
    "/t(PartitionKey='p',RowKey='r'')",
    "/t(partitionkey='p',rowkey='r')",
    "/t('p','r')",
    '/Tables(x)',
    "/Tables('a','b')",
    "/Tables('a'b)",
    '/%',
    '/%zz',
    '/t%ff',
    "/t(PartitionKey='%C3',RowKey='r')",
    "/t(PartitionKey='a%2Fb',RowKey='r')",
    "/t(PartitionKey='p',RowKey='a%5Cb')",
    "/t(PartitionKey='p',RowKey='a/b')",
  ]) {
    it(`are refused: ${path}`, () => {
      assert.throws(() => parseResourcePath(path), querySyntax);
    });
  }

  for (const code of ['%23', '%3F', '%00', '%09', '%0A', '%0D', '%1F', '%7F', '%C2%80', '%C2%9F']) {
    it(`may not hold ${code} in a key`, () => {
      assert.throws(() => parseResourcePath(`/t(PartitionKey='${code}',RowKey='')`), outOfRange);
      assert.throws(() => parseResourcePath(`/t(PartitionKey='',RowKey='a${code}')`), outOfRange);
    });
  }
});

describe('paths of entities', () => {
  it('lead back to their keys', () => {
    for (const key of namedKeys) {
      assert.deepEqual(
        parseResourcePath(`/${entityPath('t', key, `${key}1`)}`),
        entity(key, `${key}1`),
      );
    }
    fc.assert(
      fc.property(legalKey, legalKey, (partitionKey, rowKey) => {
        assert.equal(forbiddenKeyCharacterAt(partitionKey), -1);
        const path = entityPath('t', partitionKey, rowKey);
        assert.match(path, /^[!-~]*$/);
        assert.deepEqual(parseResourcePath(path), entity(partitionKey, rowKey));
        const encoded = path.replaceAll("'", '%27').replaceAll('(', '%28').replaceAll(',', '%2C');
        assert.deepEqual(parseResourcePath(encoded), entity(partitionKey, rowKey));
      }),
    );
  });

  for (const [partitionKey, rowKey, path] of [
    ['p', "O'Neil", "t(PartitionKey='p',RowKey='O''Neil')"],
    ["a''''b", '', "t(PartitionKey='a''''''''b',RowKey='')"],
    ['a:b c', 'ü', "t(PartitionKey='a%3Ab%20c',RowKey='%C3%BC')"],
    ['a+b%/', '😀', "t(PartitionKey='a%2Bb%25%2F',RowKey='%F0%9F%98%80')"],
    ['\ud800', 'x\udc00y', "t(PartitionKey='%EF%BF%BD',RowKey='x%EF%BF%BDy')"],
  ] as const) {
    it(`are spelled ${path}`, () => {
      assert.equal(entityPath('t', partitionKey, rowKey), path);
    });
  }

  it('exist for every text', () => {
    const units = fc.array(fc.integer({ min: 0, max: 0xffff }));
    fc.assert(
      fc.property(units, (all) => {
        assert.match(entityPath('t', String.fromCharCode(...all), ''), /^[!-~]*$/);
      }),
    );
  });
});

describe('hostile paths', () => {
  it('never fail in another way', () => {
    const parts = fc.array(
      fc.constantFrom(
        't',
        '(',
        ')',
        "'",
        "''",
        ',',
        '=',
        'PartitionKey',
        'RowKey',
        '%',
        '%27',
        '/',
        ' ',
      ),
      { maxLength: 20 },
    );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          parts.map((all) => all.join('')),
        ),
        (path) => {
          try {
            parseResourcePath(path);
          } catch (error) {
            assert.ok(error instanceof StorageError);
          }
        },
      ),
      { numRuns: 400 },
    );
  });

  it('take linear time', () => {
    for (const path of [
      '/'.repeat(1_000_000),
      `t(PartitionKey='${"''".repeat(500_000)}`,
      `t(${' '.repeat(1_000_000)}`,
      `t(${' '.repeat(1_000_000)}x)`,
      `t(PartitionKey='${"''".repeat(500_000)}',RowKey='')`,
    ]) {
      try {
        parseResourcePath(path);
      } catch (error) {
        assert.ok(error instanceof StorageError);
      }
    }
  });
});
