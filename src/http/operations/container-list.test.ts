import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { StorageError } from '../../model/errors/storage-error.js';
import { markerOf, parseMarker } from './container-list.js';

const account = 'devstoreaccount1';

describe('the marker of a list of queues', () => {
  it('says where the next queue is, as the cloud writes it', () => {
    assert.equal(markerOf(account, 'orders'), '/devstoreaccount1/orders');
  });

  it('comes back as the name of the queue', () => {
    const character = fc.constantFrom('a', 'b', 'z', '0', '9', '-');
    const name = fc.string({ unit: character, minLength: 3, maxLength: 63 });
    fc.assert(
      fc.property(name, (queue) => {
        assert.equal(parseMarker(markerOf(account, queue), account), queue);
      }),
    );
  });

  it('is absent when it is empty', () => {
    assert.equal(parseMarker(undefined, account), undefined);
    assert.equal(parseMarker('', account), undefined);
  });

  for (const marker of [
    'orders',
    '/orders',
    '/otheraccount/orders',
    '/devstoreaccount1/',
    '/devstoreaccount1/Orders',
    '/devstoreaccount1/a/b',
    '/devstoreaccount1//orders',
    `/devstoreaccount1/${'a'.repeat(64)}`,
    ' /devstoreaccount1/orders',
  ]) {
    it(`'${marker.slice(0, 40)}' was made by nobody`, () => {
      assert.throws(
        () => parseMarker(marker, account),
        (error: unknown) => error instanceof StorageError && error.code === 'InvalidMarker',
      );
    });
  }
});
