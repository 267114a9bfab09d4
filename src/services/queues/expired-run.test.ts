import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { manualClock } from '../../base/clock.js';
import type { Candidate } from '../../kv/store.js';
import { containerPrefix } from '../containers/keys.js';
import { ExpiredRun, type RunSearch } from './expired-run.js';
import { MessageKeys } from './message-keys.js';
import { encodeMessageState } from './message-state.js';

const minuteMicros = 60_000_000;
const nowMicros = 1_000 * minuteMicros;
const keys = new MessageKeys(containerPrefix('queue', 'acct', 7));

function message(micros: number, expiresMicros: number): Candidate {
  const state = { insertedMicros: micros, expiresMicros, dequeueCount: 0 };
  const key = keys.visibility(micros, Buffer.alloc(16));
  const value = encodeMessageState(state);
  return { key, value, valueLength: value.length, version: 1 };
}

const expired = (micros: number) => message(micros, nowMicros - 1);
const living = (micros: number) => message(micros, nowMicros + minuteMicros);

function world() {
  const clock = manualClock(nowMicros);
  const run = new ExpiredRun(keys, clock);
  /** Passes the messages that became visible at these times. */
  const pass = (search: RunSearch, from: number, to: number) => {
    for (let micros = from; micros < to; micros += 1) search.hasExpired(expired(micros));
  };
  const started = (search: RunSearch) =>
    search.start === undefined ? undefined : keys.read(search.start).micros;
  return { clock, run, pass, started, search: () => run.search(nowMicros) };
}

describe('the run of expired messages at the start of a queue', () => {
  it('is where later searches begin, once a search has passed it', () => {
    const { run, pass, started, search } = world();
    const first = search();
    assert.equal(started(first), undefined);
    pass(first, 0, 200);
    assert.equal(run.known, undefined);
    assert.equal(first.hasExpired(living(200)), false);
    assert.equal(started(search()), 191);
    const next = search();
    pass(next, 191, 400);
    assert.equal(started(search()), 382);
  });

  it('is checked again each minute by one search, while the others begin behind it', () => {
    const { clock, pass, started, search } = world();
    const first = search();
    pass(first, 0, 640);
    first.end();
    clock.advanceMicros(minuteMicros);
    const check = search();
    assert.equal(started(check), undefined);
    pass(check, 0, 320);
    assert.equal(started(search()), 639);
    pass(check, 320, 640);
    check.end();
    assert.equal(started(search()), 639);
  });

  it('ends before a message that a check finds, whatever searches that began earlier tell', () => {
    const { clock, pass, started, search } = world();
    const first = search();
    pass(first, 0, 640);
    first.end();
    const earlier = search();
    clock.advanceMicros(minuteMicros);
    const check = search();
    const meanwhile = search();
    pass(check, 0, 128);
    check.hasExpired(living(128));
    pass(check, 129, 640);
    check.end();
    for (const late of [earlier, meanwhile]) {
      pass(late, 639, 1_000);
      late.end();
    }
    assert.equal(started(search()), 127);
  });

  it('is not known while its messages may still be committed', () => {
    const { started, search } = world();
    const first = search();
    for (let count = 0; count < 200; count += 1) first.hasExpired(expired(nowMicros - count));
    first.end();
    assert.equal(started(search()), undefined);
  });

  it('is not ended by a check of the minute before', () => {
    const { clock, pass, started, search } = world();
    const first = search();
    pass(first, 0, 640);
    first.hasExpired(living(640));
    clock.advanceMicros(minuteMicros);
    const check = search();
    first.end();
    assert.equal(started(search()), 639);
    pass(check, 0, 64);
    check.end();
    assert.equal(started(search()), 63);
  });

  it('reaches as far as a check has come that failed', () => {
    const { clock, pass, started, search } = world();
    const first = search();
    pass(first, 0, 640);
    first.end();
    clock.advanceMicros(minuteMicros);
    const failed = search();
    pass(failed, 0, 64);
    failed.end();
    assert.equal(started(search()), 63);
  });
});
