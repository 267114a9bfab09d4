import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { manualClock } from '../../../base/clock.js';
import { sasCacheOf, type CachedToken, type SasCacheOptions } from './sas-cache.js';

const minute = 60_000_000;

function fixture(options: SasCacheOptions = {}, lifetimeMicros: number | undefined = 60 * minute) {
  const clock = manualClock();
  const issued: string[] = [];
  const state: { failure: Error | undefined } = { failure: undefined };
  const issue = async (user: string): Promise<CachedToken> => {
    issued.push(user);
    const token = `${user}-${issued.length}`;
    await Promise.resolve();
    if (state.failure !== undefined) throw state.failure;
    const expiresAtMicros =
      lifetimeMicros === undefined ? undefined : clock.nowMicros() + lifetimeMicros;
    return { token, expiresAtMicros };
  };
  return { clock, issued, state, cache: sasCacheOf(issue, { clock, ...options }) };
}

describe('cached tokens', () => {
  it('are handed out until shortly before they expire', async () => {
    const { clock, cache } = fixture();
    assert.equal(await cache.get('a'), 'a-1');
    clock.advanceMicros(55 * minute);
    assert.equal(await cache.get('a'), 'a-1');
    clock.advanceMicros(1);
    assert.equal(await cache.get('a'), 'a-2');
  });

  it('are made once for calls at the same time, and for each user apart', async () => {
    const { cache, issued } = fixture();
    const tokens = await Promise.all(['a', 'a', 'b', 'a'].map((user) => cache.get(user)));
    assert.deepEqual(tokens, ['a-1', 'a-1', 'b-2', 'a-1']);
    assert.deepEqual(issued, ['a', 'b']);
  });

  it('are asked for again after a failure, which all who waited hear of', async () => {
    const { cache, state, issued } = fixture();
    state.failure = new Error('the token service is away');
    const answers = await Promise.allSettled([cache.get('a'), cache.get('a')]);
    assert.deepEqual(
      answers.map(({ status }) => status),
      ['rejected', 'rejected'],
    );
    assert.deepEqual(issued, ['a']);
    state.failure = undefined;
    assert.equal(await cache.get('a'), 'a-2');
  });

  it('are asked for again after a failure that is thrown at once', async () => {
    let calls = 0;
    const cache = sasCacheOf(() => {
      calls += 1;
      if (calls === 1) throw new Error('no key');
      return { token: 't', expiresAtMicros: undefined };
    });
    await assert.rejects(cache.get('a'), /no key/);
    assert.equal(await cache.get('a'), 't');
  });

  it('without an expiry are kept for a time', async () => {
    const clock = manualClock();
    let made = 0;
    const issue = () => ({ token: `${++made}`, expiresAtMicros: undefined });
    const cache = sasCacheOf(issue, { clock, maxAgeMs: 1000 });
    assert.equal(await cache.get('a'), '1');
    clock.advanceMicros(999_999);
    assert.equal(await cache.get('a'), '1');
    clock.advanceMicros(1);
    assert.equal(await cache.get('a'), '2');
  });

  it('can be forgotten', async () => {
    const { cache } = fixture();
    await cache.get('a');
    cache.forget('a');
    assert.equal(await cache.get('a'), 'a-2');
  });

  it('are those of so many users, the ones that were asked for longest ago going first', async () => {
    const { cache, issued } = fixture({ entriesMax: 2 });
    for (const user of ['a', 'b', 'a', 'c', 'a', 'b']) await cache.get(user);
    assert.deepEqual(issued, ['a', 'b', 'c', 'b']);
  });
});
