import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { analyticsName, operationClass } from './operation-name.js';

describe('the class of an operation (blob-service §21.6)', () => {
  it('is by the nature of the operation', () => {
    const classes: Readonly<Record<string, string>> = {
      QueryEntity: 'read',
      QueryTables: 'read',
      GetMessages: 'read',
      PeekMessage: 'read',
      ListBlobs: 'read',
      FindBlobsByTags: 'read',
      TablePreflightRequest: 'read',
      GetTableServiceProperties: 'read',
      DeleteEntity: 'delete',
      ClearMessages: 'delete',
      ClearPage: 'delete',
      InsertEntity: 'write',
      EntityGroupTransaction: 'write',
      PutMessage: 'write',
      UndeleteBlob: 'write',
      SetTableACL: 'write',
    };
    for (const [name, expected] of Object.entries(classes)) {
      assert.equal(operationClass(name, 'POST'), expected, name);
    }
  });

  it('is that of the method when the request names no operation', () => {
    const methods = ['GET', 'HEAD', 'OPTIONS', 'PUT', 'POST', 'MERGE', 'DELETE'];
    assert.deepEqual(
      methods.map((method) => operationClass('Unknown', method)),
      ['read', 'read', 'read', 'write', 'write', 'write', 'delete'],
    );
  });
});

describe('the name of an operation in analytics', () => {
  it('is another for a few, and its own for others', () => {
    assert.equal(analyticsName('GetEntity'), 'QueryEntity');
    assert.equal(analyticsName('PreflightTableRequest'), 'TablePreflightRequest');
    assert.equal(analyticsName('PutMessage'), 'PutMessage');
  });
});
