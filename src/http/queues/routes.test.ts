import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { StorageError } from '../../model/errors/storage-error.js';
import { byLowerName, parseQueryString } from '../../wire/http/query-string.js';
import { routeOf } from '../operations/route.js';
import { parseQueuePath } from './resource.js';
import { queueRouter, queueRoutes, type RoutedQueueRequest } from './routes.js';

function requestOf(text: string): RoutedQueueRequest {
  const [method = '', target = '', version = '2021-12-02'] = text.split(' ');
  const [path = '', query = ''] = target.split('?');
  return {
    method,
    resource: parseQueuePath(path),
    query: byLowerName(parseQueryString(query)),
    exchange: { version },
  };
}

function routed(text: string): string {
  return routeOf(queueRouter, requestOf(text)).name;
}

describe('the route table of queues', () => {
  const cases: readonly [request: string, operation: string][] = [
    ['GET /?comp=list', 'ListQueues'],
    ['GET /?COMP=list&prefix=a', 'ListQueues'],
    ['GET /?restype=service&comp=properties', 'GetQueueServiceProperties'],
    ['PUT /?comp=properties&restype=service', 'SetQueueServiceProperties'],
    ['GET /?restype=service&comp=stats', 'GetQueueServiceStats'],
    ['POST /?restype=service&comp=userdelegationkey', 'GetUserDelegationKey'],
    ['PUT /q', 'CreateQueue'],
    ['PUT /q?timeout=30', 'CreateQueue'],
    ['DELETE /q', 'DeleteQueue'],
    ['GET /q?comp=metadata', 'GetQueueMetadata'],
    ['HEAD /q?comp=metadata', 'GetQueueMetadata'],
    ['PUT /q?comp=metadata', 'SetQueueMetadata'],
    ['GET /q?comp=acl', 'GetQueueACL'],
    ['HEAD /q?comp=acl 2012-02-12', 'GetQueueACL'],
    ['PUT /q?comp=acl', 'SetQueueACL'],
    ['POST /q/messages', 'PutMessage'],
    ['POST /q/messages?visibilitytimeout=1&messagettl=2', 'PutMessage'],
    ['GET /q/messages', 'GetMessages'],
    ['GET /q/messages?numofmessages=32', 'GetMessages'],
    ['GET /q/messages?peekonly=false', 'GetMessages'],
    ['GET /q/messages?peekonly=true', 'PeekMessages'],
    ['GET /q/messages?PeekOnly=True', 'PeekMessages'],
    ['DELETE /q/messages', 'ClearMessages'],
    ['PUT /q/messages/1?popreceipt=r&visibilitytimeout=0', 'UpdateMessage'],
    ['PUT /q/messages/1 2011-08-18', 'UpdateMessage'],
    ['DELETE /q/messages/1?popreceipt=r', 'DeleteMessage'],
    ['OPTIONS /anything', 'QueuePreflightRequest'],
    ['OPTIONS /q/messages/1?comp=acl', 'QueuePreflightRequest'],
  ];
  for (const [request, operation] of cases) {
    it(`${request} is ${operation}`, () => {
      assert.equal(routed(request), operation);
    });
  }

  it('has every operation reached above, and no other', () => {
    const reached = new Set(cases.map(([, operation]) => operation));
    assert.deepEqual([...reached].sort(), queueRoutes.map(({ name }) => name).sort());
  });

  const wrongMethods: readonly [request: string, allowed: string][] = [
    ['GET /q', 'PUT, DELETE'],
    ['POST /q', 'PUT, DELETE'],
    ['DELETE /q?comp=metadata', 'GET, HEAD, PUT'],
    ['POST /q?comp=acl', 'GET, HEAD, PUT'],
    ['HEAD /q/messages', 'POST, GET, DELETE'],
    ['PUT /q/messages', 'POST, GET, DELETE'],
    ['GET /q/messages/1', 'DELETE, PUT'],
    ['PUT /q/messages/1 2009-09-19', 'DELETE'],
    ['POST /?comp=list', 'GET'],
    ['DELETE /?restype=service&comp=properties', 'GET, PUT'],
  ];
  for (const [request, allowed] of wrongMethods) {
    it(`${request} is the wrong verb: there are ${allowed}`, () => {
      assert.throws(
        () => routed(request),
        (error: unknown) => error instanceof StorageError && error.code === 'UnsupportedHttpVerb',
      );
      assert.equal(queueRouter.methodsOf(requestOf(request)).join(', '), allowed);
    });
  }

  const unknown: readonly [request: string, name: string, value: string][] = [
    ['GET /', 'comp', ''],
    ['GET /?comp=properties', 'comp', 'properties'],
    ['GET /?restype=service', 'comp', ''],
    ['GET /?restype=account&comp=properties', 'restype', 'account'],
    ['GET /?restype=queue&comp=list', 'restype', 'queue'],
    ['GET /?comp=LIST', 'comp', 'LIST'],
    ['GET /?restype=service&comp=stats 2012-02-12', 'comp', 'stats'],
    ['GET /q?comp=list', 'comp', 'list'],
    ['GET /q?comp=acl 2011-08-18', 'comp', 'acl'],
    ['GET /q?restype=queue', 'restype', 'queue'],
    ['GET /q/messages?comp=metadata', 'comp', 'metadata'],
    ['GET /q/messages?peekonly=1', 'peekonly', '1'],
    ['GET /q/messages?peekonly=', 'peekonly', ''],
  ];
  for (const [request, name, value] of unknown) {
    it(`${request} has a ${name} that nothing has`, () => {
      assert.throws(
        () => routed(request),
        (error: unknown) => {
          assert.ok(error instanceof StorageError);
          assert.equal(error.code, 'InvalidQueryParameterValue');
          assert.deepEqual(error.details.slice(0, 2), [
            ['QueryParameterName', name],
            ['QueryParameterValue', value],
          ]);
          return error.details[2]?.[0] === 'Reason';
        },
      );
    });
  }
});
