import assert from 'node:assert/strict';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { describe, it } from 'node:test';
import { manualClock } from '../../base/clock.js';
import { StorageError } from '../../model/errors/storage-error.js';
import { Exchange } from '../exchange/exchange.js';
import { silentLogger } from '../exchange/logger.js';
import { HeldMemory } from './held-memory.js';

const mebibyte = 1024 * 1024;

/** A request whose body has not come whole. */
function exchangeBegun(): Exchange {
  const request = new IncomingMessage(new Socket());
  return new Exchange(request, new ServerResponse(request), {
    service: 'table',
    requestId: 'r',
    timeMicros: 0,
    startMs: 0,
    protocol: 'http',
    awaitsContinue: false,
  });
}

function heldMemory() {
  const clock = manualClock();
  return { clock, memory: new HeldMemory({ clock, logger: silentLogger }) };
}

const isBusy = (error: unknown) =>
  error instanceof StorageError && error.code === 'ServerBusy' && error.status === 503;

describe('the memory that bodies and answers share', () => {
  it('has room to its last byte', () => {
    const { memory } = heldMemory();
    memory.take(exchangeBegun(), mebibyte - 10);
    memory.ensureRoom(10, mebibyte);
    assert.throws(() => memory.ensureRoom(11, mebibyte), isBusy);
    assert.equal(memory.bytes, mebibyte - 10);
  });

  it('takes that of a client that has not moved for a second, and of nobody before', () => {
    const { clock, memory } = heldMemory();
    const [still, moving] = [exchangeBegun(), exchangeBegun()];
    memory.take(still, mebibyte / 2);
    clock.advanceMicros(999_000);
    memory.take(moving, mebibyte / 2);
    assert.throws(() => memory.ensureRoom(1, mebibyte), isBusy);
    clock.advanceMicros(1000);
    memory.ensureRoom(1, mebibyte);
    assert.deepEqual([still, moving].map(wasCutOff), [true, false]);
    assert.equal(memory.bytes, mebibyte / 2);
    // What is dropped later was given back with the rest.
    memory.giveBack(still, mebibyte / 2);
    assert.equal(memory.bytes, mebibyte / 2);
  });

  it('cuts off no more clients than it needs, the one that stood still longest first', () => {
    const { clock, memory } = heldMemory();
    const exchanges = [exchangeBegun(), exchangeBegun(), exchangeBegun()];
    for (const exchange of exchanges) memory.take(exchange, mebibyte / 4);
    const [first] = exchanges;
    assert.ok(first !== undefined);
    memory.giveBack(first, 1);
    clock.advanceMicros(1_000_000);
    memory.ensureRoom(mebibyte / 2 + 1, mebibyte);
    assert.deepEqual(exchanges.map(wasCutOff), [false, true, false]);
  });

  it('leaves alone who holds little, and whose work is under way', () => {
    const { clock, memory } = heldMemory();
    const [small, atWork] = [exchangeBegun(), exchangeBegun()];
    atWork.request.complete = true;
    memory.take(small, 16 * 1024);
    memory.take(atWork, mebibyte);
    clock.advanceMicros(60_000_000);
    assert.throws(() => memory.ensureRoom(1, mebibyte), isBusy);
    assert.deepEqual([small, atWork].map(wasCutOff), [false, false]);
    memory.release(atWork);
    memory.release(small);
    assert.equal(memory.bytes, 0);
    // Whoever is alone may have more than the bound.
    memory.ensureRoom(2 * mebibyte, mebibyte);
  });
});

function wasCutOff(exchange: Exchange): boolean {
  return exchange.request.socket.destroyed;
}
