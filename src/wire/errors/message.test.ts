import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { batchMessage, stampedMessage } from './message.js';
import { StorageError } from '../../model/errors/storage-error.js';

const several = { kind: 'changeset', operationCount: 2 } as const;
const single = { kind: 'changeset', operationCount: 1 } as const;

describe('batchMessage', () => {
  it('gives a validation error its index whatever the size of the changeset', () => {
    const error = new StorageError('TableNotFound');
    assert.equal(batchMessage(error, single), '0:The table specified does not exist.');
    assert.equal(batchMessage(error, several), '0:The table specified does not exist.');
  });

  it('gives a storage error its index only among several operations', () => {
    const error = new StorageError('EntityAlreadyExists', { operationIndex: 1 });
    assert.equal(batchMessage(error, several), '1:The specified entity already exists.');
    const first = new StorageError('EntityAlreadyExists', { operationIndex: 0 });
    assert.equal(batchMessage(first, single), 'The specified entity already exists.');
  });

  it('gives the error of a lone query the index 0', () => {
    const error = new StorageError('ResourceNotFound');
    assert.equal(
      batchMessage(error, { kind: 'query' }),
      '0:The specified resource does not exist.',
    );
  });

  it('says which entity repeats in the words of the service', () => {
    const error = new StorageError('InvalidDuplicateRow', { operationIndex: 1 });
    assert.equal(
      batchMessage(error, several),
      '1:The batch request contains multiple changes with same row key. ' +
        'An entity can appear only once in a batch request.',
    );
  });
});

describe('stampedMessage', () => {
  it('always has seven fraction digits', () => {
    const requestId = '2ce0e2f1-0002-0019-20cd-5933a5000000';
    const second = Date.parse('2017-11-10T02:46:51Z') * 1000;
    for (const [micros, fraction] of [
      [0, '0000000'],
      [7, '0000070'],
      [43_721, '0437210'],
      [999_999, '9999990'],
    ] as const) {
      assert.equal(
        stampedMessage('Text.', { requestId, timeMicros: second + micros }),
        `Text.\nRequestId:${requestId}\nTime:2017-11-10T02:46:51.${fraction}Z`,
      );
    }
  });
});
