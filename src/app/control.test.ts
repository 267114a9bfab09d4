import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ServedPartitionControl } from '../http/control/partitions.js';
import type { ControlTarget } from '../http/control/routes.js';
import { StoreUnavailableError, StoreWriteError } from '../kv/errors.js';
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

describe('the control API', () => {
  for (const [error, status] of [
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
        assert.deepEqual(await answer.json(), { error: error.message });
        assert.equal(answer.headers.get('retry-after'), status === 503 ? '1' : null);
        assert.deepEqual(logged, status >= 500 ? [{ error }] : []);
      } finally {
        await server.close();
      }
    });
  }
});
