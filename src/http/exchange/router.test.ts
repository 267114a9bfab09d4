import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Router, type Routable } from './router.js';

interface Request {
  readonly method: string;
  readonly path: string;
  readonly isSigned?: boolean;
}
interface Route extends Routable<Request> {
  readonly name: string;
  readonly path?: string;
}

const routes: readonly Route[] = [
  { name: 'unsigned', methods: ['GET', 'HEAD'], path: '/a', when: ({ isSigned }) => !isSigned },
  { name: 'signed', methods: ['GET'], path: '/a' },
  { name: 'change', methods: ['PUT'], path: '/a' },
  { name: 'ask', methods: ['OPTIONS'], everywhere: true },
];
const router = new Router<Request, Route>(routes, ({ path }, request) => path === request.path);

describe('a router', () => {
  const found = (method: string, path: string, isSigned = false) =>
    router.find({ method, path, isSigned })?.name;

  it('takes the first route with the method and the address that the request fits', () => {
    assert.equal(found('GET', '/a'), 'unsigned');
    assert.equal(found('GET', '/a', true), 'signed');
    assert.equal(found('PUT', '/a', true), 'change');
    assert.equal(found('HEAD', '/a', true), undefined);
    assert.equal(found('DELETE', '/a'), undefined);
    assert.equal(found('GET', '/b'), undefined);
  });

  it('has routes at every address, which are no methods of one', () => {
    assert.equal(found('OPTIONS', '/b'), 'ask');
    assert.deepEqual(router.methodsOf({ method: 'DELETE', path: '/a' }), ['GET', 'HEAD', 'PUT']);
    assert.deepEqual(router.methodsOf({ method: 'DELETE', path: '/b' }), []);
  });
});
