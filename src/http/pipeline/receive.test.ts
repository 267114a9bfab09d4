import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { StorageError } from '../../model/errors/storage-error.js';
import { parseHost, splitTarget } from './receive.js';

const failsWith = (code: string) => (error: unknown) =>
  error instanceof StorageError && error.code === code;

describe('the host', () => {
  it('may be any name or address, with a port', () => {
    for (const host of ['localhost', 'a.localhost:1', '127.0.0.1:10002', '[::1]:10002', 'my_box']) {
      assert.equal(parseHost(host), host);
    }
  });

  it('must be there', () => {
    assert.throws(() => parseHost(undefined), failsWith('HostInformationNotPresent'));
    assert.throws(() => parseHost(''), failsWith('HostInformationNotPresent'));
  });

  it('may not hold what would change the meaning of an answer that repeats it', () => {
    for (const host of ['a"b', 'a b', 'a/b', 'a\\b', 'a'.repeat(301)]) {
      assert.throws(() => parseHost(host), failsWith('InvalidHeaderValue'), host);
    }
  });
});

describe('the request target', () => {
  const cases: readonly [target: string, path: string, query: string][] = [
    ['/a/t', '/a/t', ''],
    ["/a/t(PartitionKey='%3F')?x=1?2", "/a/t(PartitionKey='%3F')", 'x=1?2'],
    ['http://host:1/a/t?x=1', '/a/t', 'x=1'],
    ['http://host', '/', ''],
    ['http://host?x=/', '/', 'x=/'],
    ['*', '/', ''],
  ];
  for (const [target, path, query] of cases) {
    it(`${target} is split without decoding`, () => {
      assert.deepEqual(splitTarget(target), { path, query });
    });
  }
});
