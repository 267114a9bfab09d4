import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseBlobPath } from '../../wire/blobs/resource-path.js';
import { byLowerName, parseQueryString } from '../../wire/http/query-string.js';
import { defaultLimits } from '../pipeline/limits.js';
import { routeOf } from '../operations/route.js';
import type { RoutedBlobRequest } from './blob-route.js';
import { blobRouter, blobRoutes } from './routes.js';

function routed(text: string, headers: Readonly<Record<string, string>> = {}): string {
  const [method = '', target = ''] = text.split(' ');
  const [path = '', queryText = ''] = target.split('?');
  const query = byLowerName(parseQueryString(queryText));
  const request: RoutedBlobRequest = {
    method,
    resource: parseBlobPath(path, query.has('restype')),
    query,
    exchange: { version: '2021-12-02' },
    header: (name) => headers[name],
  };
  return routeOf(blobRouter, request).name;
}

describe('the route table of blobs', () => {
  for (const [request, operation] of [
    ['GET /?comp=list', 'ListContainers'],
    ['GET /?comp=list&restype=', undefined],
    ['GET /?restype=service&comp=properties', 'GetBlobServiceProperties'],
    ['PUT /?comp=properties&restype=service', 'SetBlobServiceProperties'],
    ['GET /?restype=service&comp=stats', 'GetBlobServiceStats'],
    ['POST /?restype=service&comp=userdelegationkey', 'GetUserDelegationKey'],
    ['GET /?restype=account&comp=properties', 'GetAccountInformation'],
    ['HEAD /c?restype=account&comp=properties', 'GetAccountInformation'],
    ['GET /c/b?comp=properties&restype=account', 'GetAccountInformation'],
    ['GET /c?restype=container', 'GetContainerProperties'],
    ['HEAD /c/?restype=container', 'GetContainerProperties'],
    ['PUT /$root?restype=container', 'CreateContainer'],
    ['DELETE /c?restype=container', 'DeleteContainer'],
    ['HEAD /c?restype=container&comp=metadata', 'GetContainerMetadata'],
    ['PUT /c?comp=metadata&restype=container', 'SetContainerMetadata'],
    ['GET /c?restype=container&comp=acl', 'GetContainerACL'],
    ['PUT /c?restype=container&comp=acl', 'SetContainerACL'],
    ['PUT /c?restype=container&comp=lease', 'AcquireContainerLease'],
    ['PUT /c?restype=container&comp=undelete', 'RestoreContainer'],
    ['GET /c/b?restype=container', undefined],
    ['GET /c?restype=other', undefined],
    ['OPTIONS /c/b', 'BlobPreflightRequest'],
  ] as const) {
    it(`${request} is ${operation ?? 'nothing'}`, () => {
      if (operation !== undefined) return assert.equal(routed(request), operation);
      assert.throws(() => routed(request), { code: 'InvalidQueryParameterValue' });
      return undefined;
    });
  }

  it('tells the operations of a lease apart by the action, in any case', () => {
    const request = 'PUT /c?restype=container&comp=lease';
    for (const [action, operation] of [
      ['acquire', 'AcquireContainerLease'],
      ['Renew', 'RenewContainerLease'],
      ['CHANGE', 'ChangeContainerLease'],
      ['release', 'ReleaseContainerLease'],
      ['break', 'BreakContainerLease'],
    ] as const) {
      assert.equal(routed(request, { 'x-ms-lease-action': action }), operation);
    }
  });

  it('gives lists of blocks a minute and batches two (blob-service §3.1)', () => {
    const longer = blobRoutes.flatMap(({ name, operation: { timeLimits } }) =>
      timeLimits === undefined ? [] : [`${name} ${timeLimits * defaultLimits.operationTimeoutMs}`],
    );
    assert.deepEqual(new Set(longer), new Set(['PutBlockList 60000', 'BlobBatch 120000']));
  });

  it('has other verbs for what is there', () => {
    for (const request of ['POST /c?restype=container', 'DELETE /?comp=list']) {
      assert.throws(() => routed(request), { code: 'UnsupportedHttpVerb' }, request);
    }
  });
});
