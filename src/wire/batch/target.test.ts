import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { splitTarget } from './target.js';

describe('splitTarget', () => {
  it('leaves scheme and host out and decodes nothing', () => {
    for (const [target, path, query] of [
      ['/t', '/t', ''],
      ['t', '/t', ''],
      ['https://acct.table.core.windows.net/t()?a=b', '/t()', 'a=b'],
      ['http://127.0.0.1:10002/devstoreaccount1/t', '/devstoreaccount1/t', ''],
      ['HTTP://host', '/', ''],
      ['http://host?x=/', '/', 'x=/'],
      [
        "/t(PartitionKey='http://x/y',RowKey='a%2Fb%3F')?q=?",
        "/t(PartitionKey='http://x/y',RowKey='a%2Fb%3F')",
        'q=?',
      ],
      ["t(PartitionKey='a://b/c',RowKey='')", "/t(PartitionKey='a://b/c',RowKey='')", ''],
    ] as const) {
      assert.deepEqual(splitTarget(target), { path, query }, target);
    }
  });
});
