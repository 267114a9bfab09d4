import assert from 'node:assert/strict';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { describe, it } from 'node:test';
import { manualClock } from '../../base/clock.js';
import { StorageError } from '../../model/errors/storage-error.js';
import { Exchange } from '../exchange/exchange.js';
import { silentLogger } from '../exchange/logger.js';
import { CompactRequest } from './compact-request.js';
import { HeldMemory } from './held-memory.js';

const mebibyte = 1024 * 1024;

/** A request whose body is incomplete. */
function exchangeBegun(request = new IncomingMessage(new Socket())): Exchange {
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

/** An exchange that holds no memory. */
const newcomer = { heldBytes: 0 };
const small = 16 * 1024;
const large = small + 1;

/** A request that waits for its turn, so that the server does not read it. */
class UnreadRequest extends CompactRequest {
  waits = true;

  override get waitsForTurn(): boolean {
    return this.waits;
  }
}

const isBusy = (error: unknown) =>
  error instanceof StorageError && error.code === 'ServerBusy' && error.status === 503;

describe('the memory that bodies and answers share', () => {
  it('is available to the last byte, except a sixteenth that is kept for small requests', () => {
    const { memory } = heldMemory();
    const held = (mebibyte / 16) * 15 - large;
    memory.take(exchangeBegun(), held);
    memory.ensureFree(newcomer, large, mebibyte);
    assert.throws(() => memory.ensureFree(newcomer, large + 1, mebibyte), isBusy);
    assert.equal(memory.bytes, held);
  });

  it('is available to small requests, however much the large ones hold', () => {
    const { memory } = heldMemory();
    // Memory that cannot be refused may exceed the bound.
    memory.take(exchangeBegun(), 3 * mebibyte);
    for (let taken = 0; taken < mebibyte / 16; taken += small) {
      const exchange = exchangeBegun();
      memory.ensureFree(exchange, small, mebibyte);
      memory.take(exchange, small);
    }
    assert.throws(() => memory.ensureFree(newcomer, small, mebibyte), isBusy);
    assert.throws(() => memory.ensureFree(newcomer, large, mebibyte), isBusy);
  });

  it('is never refused to the only large request', () => {
    const { memory } = heldMemory();
    const [little, much] = [exchangeBegun(), exchangeBegun()];
    memory.take(little, 1000);
    memory.ensureFree(much, 2 * mebibyte, mebibyte);
    memory.take(much, 2 * mebibyte);
    memory.ensureFree(much, mebibyte, mebibyte);
    assert.throws(() => memory.ensureFree(newcomer, large, mebibyte), isBusy);
    memory.release(much);
    memory.ensureFree(newcomer, large, mebibyte);
    memory.release(little);
    assert.equal(memory.bytes, 0);
  });

  it('is taken from a client that has stood still for a second, and from no other', () => {
    const { clock, memory } = heldMemory();
    const [still, moving] = [exchangeBegun(), exchangeBegun()];
    memory.take(still, mebibyte / 2);
    clock.advanceMicros(999_000);
    memory.take(moving, mebibyte / 2);
    assert.throws(() => memory.ensureFree(newcomer, large, mebibyte), isBusy);
    clock.advanceMicros(1000);
    memory.ensureFree(newcomer, large, mebibyte);
    assert.deepEqual([still, moving].map(wasCutOff), [true, false]);
    assert.equal(memory.bytes, mebibyte / 2);
    // Giving back memory of an exchange that was cut off must not count twice.
    memory.giveBack(still, mebibyte / 2);
    assert.equal(memory.bytes, mebibyte / 2);
  });

  it('is taken from no more clients than needed, from the one that stood still longest first', () => {
    const { clock, memory } = heldMemory();
    const exchanges = [exchangeBegun(), exchangeBegun(), exchangeBegun()];
    for (const exchange of exchanges) memory.take(exchange, mebibyte / 4);
    const [first] = exchanges;
    assert.ok(first !== undefined);
    memory.giveBack(first, 1);
    clock.advanceMicros(1_000_000);
    memory.ensureFree(newcomer, (mebibyte / 16) * 7, mebibyte);
    assert.deepEqual(exchanges.map(wasCutOff), [false, true, false]);
  });

  it('is not taken from requests that hold little or whose work is under way', () => {
    const { clock, memory } = heldMemory();
    const [small, atWork] = [exchangeBegun(), exchangeBegun()];
    atWork.request.complete = true;
    memory.take(small, 16 * 1024);
    memory.take(atWork, mebibyte);
    clock.advanceMicros(60_000_000);
    assert.throws(() => memory.ensureFree(newcomer, large, mebibyte), isBusy);
    assert.deepEqual([small, atWork].map(wasCutOff), [false, false]);
    memory.release(atWork);
    memory.release(small);
    assert.equal(memory.bytes, 0);
    // An exchange that has all of the memory for itself may exceed the bound.
    memory.ensureFree(newcomer, 2 * mebibyte, mebibyte);
  });

  it('is not taken from a client whose body the server does not read, which then has a second again', () => {
    const { clock, memory } = heldMemory();
    const request = new UnreadRequest(new Socket());
    const [unread, still] = [exchangeBegun(request), exchangeBegun()];
    for (const exchange of [unread, still]) memory.take(exchange, mebibyte / 2);
    clock.advanceMicros(1_000_000);
    memory.ensureFree(newcomer, large, mebibyte);
    assert.deepEqual([unread, still].map(wasCutOff), [false, true]);
    memory.take(exchangeBegun(), mebibyte / 2);
    request.waits = false;
    clock.advanceMicros(999_000);
    assert.throws(() => memory.ensureFree(newcomer, large, mebibyte), isBusy);
    clock.advanceMicros(1000);
    memory.ensureFree(newcomer, large, mebibyte);
    assert.ok(wasCutOff(unread));
  });
});

function wasCutOff(exchange: Exchange): boolean {
  return exchange.request.socket.destroyed;
}
