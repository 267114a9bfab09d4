import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ServedPartitionControl } from '../http/control/partitions.js';
import type { ControlTarget } from '../http/control/routes.js';
import { StoreClosedError, StoreUnavailableError, StoreWriteError } from '../kv/errors.js';
import { StoreNotOpenError } from '../partition/members.js';
import { StoreLocationMismatchError, TakenOverError } from '../partition/operations/tools.js';
import { openControl } from './control.js';

/** Answers the cancellation of an operation by failing. */
function failing(failure: Error): ControlTarget {
  const cancel = async () => {
    await Promise.resolve();
    throw failure;
  };
  // The route uses no other member.
  const partitions = Object.assign({} as ServedPartitionControl, { cancel });
  return Object.assign({} as ControlTarget, { partitions });
}

const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };

describe('the control API', () => {
  for (const [method, path, body, error] of [
    ['PUT', 'partition-stores/b', { location: '' }, /^location .* a directory.* not empty/],
    ['PUT', 'partition-stores/b', { postgresUrl: '' }, /^postgresUrl .* postgres:.* not empty/],
    ['PUT', 'partition-stores/b', { postgresSchema: 5 }, /^postgresSchema .* name of a schema/],
    ['PUT', 'partition-stores/b', { inMemory: false }, /^inMemory must be true, or left out/],
    ['POST', 'partitions/7/split', { at: '' }, /^at must be a place, such as table/],
    ['POST', 'partitions/7/move', { to: '' }, /^to must be the name of a store/],
  ] as const) {
    it(`says what a member must be: ${JSON.stringify(body)}`, async () => {
      const { server, port } = await openControl(failing(new Error()), { port: 0, logger: silent });
      try {
        const url = `http://127.0.0.1:${port}/${path}`;
        const answer = await fetch(url, { method, body: JSON.stringify(body) });
        assert.equal(answer.status, 400);
        const told = (await answer.json()) as { readonly error: string };
        assert.match(told.error, error);
      } finally {
        await server.close();
      }
    });
  }

  for (const [error, status, said = error.message] of [
    [new StoreClosedError(), 503, 'This server is stopping: ask again when it has started.'],
    [new StoreUnavailableError('The database of the store does not answer.'), 503],
    [new StoreNotOpenError('b'), 409],
    [new StoreLocationMismatchError(7, 'b'), 409],
    [new TakenOverError(7), 409],
    [new StoreWriteError('The disk is full.'), 500],
  ] as const) {
    it(`says what is wrong: ${error.constructor.name}`, async () => {
      const logged: unknown[] = [];
      const told = (_: string, fields?: unknown) => void logged.push(fields);
      const logger = { info: () => undefined, warn: () => undefined, error: told };
      const { server, port } = await openControl(failing(error), { port: 0, logger });
      try {
        const url = `http://127.0.0.1:${port}/partition-operations/7`;
        const answer = await fetch(url, { method: 'DELETE' });
        assert.equal(answer.status, status);
        assert.deepEqual(await answer.json(), { error: said });
        assert.equal(answer.headers.get('retry-after'), status === 503 ? '1' : null);
        assert.deepEqual(logged, status >= 500 ? [{ error }] : []);
      } finally {
        await server.close();
      }
    });
  }
});
