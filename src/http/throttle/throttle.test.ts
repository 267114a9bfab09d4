import assert from 'node:assert/strict';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { describe, it } from 'node:test';
import { manualClock } from '../../base/clock.js';
import { Exchange } from '../exchange/exchange.js';
import type { AdmittedRequest } from '../pipeline/interceptor.js';
import { conclude } from '../pipeline/record-exchange.js';
import { silentLogger } from '../exchange/logger.js';
import { Throttle } from './throttle.js';

/** A request to put a message into a queue. */
function requestTo(queue: string, requestId: string): AdmittedRequest {
  const message = new IncomingMessage(new Socket());
  const exchange = new Exchange(message, new ServerResponse(message), {
    service: 'queue',
    requestId,
    timeMicros: 0,
    startMs: 0,
    protocol: 'http',
    awaitsContinue: false,
  });
  exchange.resource = queue;
  exchange.load = [{ partitionKey: '', count: 1 }];
  return {
    exchange,
    operation: 'PutMessage',
    hasLoad: true,
    mayGrow: true,
    entities: () => [],
    standAside: (wait) => wait(),
  };
}

describe('the throttle', () => {
  it('counts what was under way when its limits are set for nothing', async () => {
    const throttle = new Throttle(manualClock());
    const end = ({ exchange }: AdmittedRequest): void =>
      conclude(
        exchange,
        { aborted: false, endMs: 0 },
        { observers: [throttle.observe], logger: silentLogger },
      );
    throttle.set({ messagesPerSecondPerQueue: 1 });
    const [early, late] = [requestTo('q', 'early'), requestTo('q', 'late')];
    await throttle.beforeWork(early);
    await assert.rejects(throttle.beforeWork(requestTo('q', 'beside')), { code: 'ServerBusy' });
    throttle.set({ messagesPerSecondPerQueue: 1 });
    end(early);
    await throttle.beforeWork(late);
    end(late);
    await assert.rejects(throttle.beforeWork(requestTo('q', 'next')), { code: 'ServerBusy' });
    assert.equal(throttle.refused, 1, 'of those since the limits were set');
  });
});
