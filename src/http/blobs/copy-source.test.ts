import assert from 'node:assert/strict';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { describe, it } from 'node:test';
import { manualClock } from '../../base/clock.js';
import { Exchange } from '../exchange/exchange.js';
import { ownBodyOf } from './copy-source.js';

const limitMs = 30_000;

function exchangeWithLimit(): Exchange {
  const request = new IncomingMessage(new Socket());
  const exchange = new Exchange(request, new ServerResponse(request), {
    service: 'blob',
    requestId: 'r',
    timeMicros: 0,
    startMs: 0,
    protocol: 'http',
    awaitsContinue: false,
  });
  exchange.deadlineMs = limitMs;
  return exchange;
}

describe('the bytes of a source that the server keeps', () => {
  it('have the time limit for each piece, however many there are', async () => {
    const clock = manualClock();
    const exchange = exchangeWithLimit();
    const stepMs = limitMs - 1;
    async function* slowly() {
      for (let piece = 0; piece < 100; piece += 1) {
        clock.advanceMicros(stepMs * 1_000);
        assert.ok(exchange.deadlineMs > clock.monotonicMs(), 'the time is not over');
        yield Buffer.from([piece]);
      }
    }
    let pieces = 0;
    const backend = { clock };
    for await (const piece of ownBodyOf({ exchange, backend }, { body: slowly() })) {
      assert.equal(piece[0], pieces);
      pieces += 1;
      assert.equal(exchange.deadlineMs - clock.monotonicMs(), limitMs);
    }
    assert.equal(pieces, 100);
    assert.equal(exchange.deadlineMs - clock.monotonicMs(), limitMs, 'its commit has as long');
  });
});
