import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { ValueError } from '../../rows/model-error.js';
import { indexIntentPayload, type IndexIntent } from './index-intent.js';

const key = fc.record(
  { partitionKey: fc.string(), rowKey: fc.string() },
  { noNullPrototype: true },
);
const name = fc.string({ minLength: 1 }).filter((text) => text !== '__proto__');

const intent: fc.Arbitrary<IndexIntent> = fc
  .tuple(key, fc.dictionary(name, fc.option(fc.array(key, { minLength: 1, maxLength: 3 }))))
  .map(([primary, indexes]) => ({
    key: primary,
    indexes: Object.keys(indexes),
    before: Object.fromEntries(
      Object.entries(indexes).flatMap(([each, had]) => (had === null ? [] : [[each, had]])),
    ),
  }));

describe('an intent for indexes', () => {
  it('is read from its message as it was written', async () => {
    await fc.assert(
      fc.asyncProperty(intent, async (given) => {
        const json: unknown = JSON.parse(JSON.stringify(await indexIntentPayload.encode(given)));
        assert.deepEqual(await indexIntentPayload.decode(json as never), given);
      }),
    );
  });

  it('is read from a program that knows one key of an index only, and written for it', async () => {
    const older = { key: ['p', 'r'], indexes: { email: ['p', 'a'], town: null }, after: {} };
    const given = {
      key: { partitionKey: 'p', rowKey: 'r' },
      indexes: ['email', 'town'],
      before: { email: [{ partitionKey: 'p', rowKey: 'a' }] },
      after: {},
    };
    assert.deepEqual(await indexIntentPayload.decode(older), given);
    assert.deepEqual(await indexIntentPayload.encode(given), older);
  });

  it('names no former key for an index that is called like a member of every object', async () => {
    const given = { key: { partitionKey: 'p', rowKey: 'r' }, indexes: ['toString'], before: {} };
    const json: unknown = JSON.parse(JSON.stringify(await indexIntentPayload.encode(given)));
    assert.deepEqual(await indexIntentPayload.decode(json as never), given);
  });

  it('is refused when it is none', () => {
    for (const payload of [
      null,
      [],
      {},
      { key: ['p', 'r'] },
      { key: ['p'], indexes: {} },
      { key: ['p', 'r', 'x'], indexes: {} },
      { key: ['p', 'r'], indexes: { email: 'x' } },
      { key: ['p', 'r'], indexes: [] },
    ]) {
      assert.throws(() => indexIntentPayload.decode(payload), ValueError, JSON.stringify(payload));
    }
  });
});
