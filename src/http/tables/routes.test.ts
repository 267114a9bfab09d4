import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { StorageError } from '../../model/errors/storage-error.js';
import { parseQueryString } from '../../wire/http/query-string.js';
import { parseResourcePath } from '../../wire/odata/resource.js';
import { tableRouteOf } from './route.js';
import { tableRouter, tableRoutes } from './routes.js';

const entity = "/t(PartitionKey='p',RowKey='r')";

function routed(text: string): string {
  const [method = '', target = '', ifMatch] = text.split(' ');
  const [path = '', query = ''] = target.split('?');
  return tableRouteOf(tableRouter, {
    method,
    resource: parseResourcePath(path),
    query: parseQueryString(query),
    exchange: { version: '2019-02-02' },
    header: (name) => (name === 'if-match' ? ifMatch : undefined),
  }).name;
}

describe('the route table', () => {
  const cases: readonly [request: string, operation: string][] = [
    ['GET /Tables', 'QueryTables'],
    ['GET /Tables()', 'QueryTables'],
    ['POST /Tables', 'CreateTable'],
    ["GET /Tables('t')", 'GetTable'],
    ["DELETE /Tables('t')", 'DeleteTable'],
    ['GET /t', 'QueryEntities'],
    ['GET /t()?$filter=', 'QueryEntities'],
    ['POST /t', 'InsertEntity'],
    [`GET ${entity}`, 'GetEntity'],
    [`PUT ${entity}`, 'InsertOrReplaceEntity'],
    [`PUT ${entity} *`, 'UpdateEntity'],
    [`MERGE ${entity}`, 'InsertOrMergeEntity'],
    [`PATCH ${entity} *`, 'MergeEntity'],
    [`DELETE ${entity} *`, 'DeleteEntity'],
    [`DELETE ${entity}`, 'DeleteEntity'],
    ['POST /$batch', 'EntityGroupTransaction'],
    ['POST /%24batch', 'EntityGroupTransaction'],
    ['GET /t?comp=acl', 'GetTableAcl'],
    ['PUT /t?comp=acl', 'SetTableAcl'],
    ['GET /?restype=service&comp=properties', 'GetTableServiceProperties'],
    ['PUT /?restype=service&comp=properties', 'SetTableServiceProperties'],
    ['GET /?restype=service&comp=stats', 'GetTableServiceStats'],
    ['OPTIONS /anything', 'PreflightTableRequest'],
    [`OPTIONS ${entity}?comp=acl`, 'PreflightTableRequest'],
  ];
  for (const [request, operation] of cases) {
    it(`${request} is ${operation}`, () => {
      assert.equal(routed(request), operation);
    });
  }

  it('has every operation reached above, and no other', () => {
    const reached = new Set(cases.map(([, operation]) => operation));
    assert.deepEqual([...reached].sort(), tableRoutes.map(({ name }) => name).sort());
  });

  const refused: readonly [request: string, code: string][] = [
    ['HEAD /t', 'MethodNotAllowed'],
    ['PUT /t', 'MethodNotAllowed'],
    ['GET /$batch', 'MethodNotAllowed'],
    ['GET /', 'MethodNotAllowed'],
    [`POST ${entity}`, 'MethodNotAllowed'],
    ["PUT /Tables('t')", 'MethodNotAllowed'],
    ['DELETE /t?comp=acl', 'MethodNotAllowed'],
    ['GET /t?comp=list', 'InvalidQueryParameterValue'],
    ['GET /Tables?comp=acl', 'InvalidQueryParameterValue'],
    ['GET /t?restype=service', 'InvalidQueryParameterValue'],
    ['GET /?restype=account&comp=properties', 'InvalidQueryParameterValue'],
  ];
  for (const [request, code] of refused) {
    it(`${request} is ${code}`, () => {
      assert.throws(
        () => routed(request),
        (error: unknown) => error instanceof StorageError && error.code === code,
      );
    });
  }
});
