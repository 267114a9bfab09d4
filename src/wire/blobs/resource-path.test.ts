import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { StorageError } from '../../model/errors/storage-error.js';
import { parseBlobPath } from './resource-path.js';

const blob = (container: string, name: string) => ({ kind: 'blob', container, blob: name });

describe('the path of a request', () => {
  it('names the service, a container or a blob', () => {
    for (const [path, namesContainer, resource] of [
      ['/', false, { kind: 'service' }],
      ['', true, { kind: 'service' }],
      ['/c', true, { kind: 'container', container: 'c' }],
      ['/c/', true, { kind: 'container', container: 'c' }],
      ['/%24root', true, { kind: 'container', container: '$root' }],
      ['/c', false, blob('$root', 'c')],
      ['/$root/a', false, blob('$root', 'a')],
      ['/%24root/a', false, blob('$root', 'a')],
      ['/c/a', true, blob('c', 'a')],
      ['/c/dir/a%20b.txt', false, blob('c', 'dir/a b.txt')],
      ['/c/dir%2Fa+b', false, blob('c', 'dir/a+b')],
      ['/c/dir%5Ca\\b', false, blob('c', 'dir/a/b')],
      ['/c//', false, blob('c', '/')],
      ['/c/a/', false, blob('c', 'a/')],
      ['/c/%2525', false, blob('c', '%25')],
      ['/c/%F0%9F%98%80', false, blob('c', '😀')],
    ] as const) {
      assert.deepEqual(parseBlobPath(path, namesContainer), resource, path);
    }
  });

  it('is refused in another form and beyond the limits of a name', () => {
    for (const path of [
      'ab',
      '//',
      '//b',
      '/c/',
      '/a%2Fb',
      '/a%5Cb',
      '/$root/a/b',
      '/c/%',
      '/c/%ff',
      `/c/${'a'.repeat(1_025)}`,
      `/c/${'a/'.repeat(254)}`,
    ]) {
      assert.throws(() => parseBlobPath(path, false), { code: 'InvalidUri' }, path.slice(0, 20));
    }
    assert.ok(parseBlobPath(`/c/${'é'.repeat(1_024)}`, false));
    assert.ok(parseBlobPath(`/c/${'a/'.repeat(253)}`, false));
  });

  it('gives back every name that clients encode', () => {
    const name = fc.string({ unit: 'binary', minLength: 1, maxLength: 40 });
    fc.assert(
      fc.property(name, fc.boolean(), (name, slashes) => {
        const encoded = encodeURIComponent(name);
        const path = slashes ? encoded.replaceAll('%2F', '/') : encoded;
        assert.deepEqual(parseBlobPath(`/c/${path}`, false), blob('c', name.replaceAll('\\', '/')));
      }),
    );
  });

  it('is a resource or a documented error, whatever it is', () => {
    const text = fc.string({ unit: fc.constantFrom('/', '\\', '%', '2', 'F', 'f', 'a', '$', '.') });
    fc.assert(
      fc.property(text, fc.boolean(), (text, namesContainer) => {
        try {
          parseBlobPath(`/${text}`, namesContainer);
        } catch (error) {
          assert.ok(error instanceof StorageError && error.code === 'InvalidUri');
        }
      }),
      { numRuns: 250 },
    );
  });
});
