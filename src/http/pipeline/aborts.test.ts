import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createSecureContext } from 'node:tls';
import { startEcho } from '../../../test/support/echo-server.js';
import { openConnection, signedRequest } from '../../../test/support/raw-http.js';
import { byLength } from '../../../test/support/run-length.js';
import { makePair } from '../../../test/support/tls-files.js';
import { SimRandom } from '../../../test/support/sim-random.js';

const target = '/devstoreaccount1/x';
const answer = 'x'.repeat(4 << 20);
const rounds = byLength({ short: 40, long: 400 });

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
}

describe('memory that is held for requests', () => {
  for (const isTls of [false, true]) {
    it(`is given back to the last byte, wherever clients leave, ${isTls ? 'over TLS' : 'plain'}`, async () => {
      const seed = Date.now() % 1_000_000;
      const random = new SimRandom(seed);
      const running: ((text: string) => void)[] = [];
      const tls = isTls ? { tls: { context: createSecureContext(await makePair()) } } : {};
      const more = { bodyBytesMax: 200_000, ...tls };
      await using harness = await startEcho(() => new Promise((done) => running.push(done)), more);
      let whole = 0;
      for (let round = 0; round < rounds; round += 1) {
        const connection = openConnection(harness.port, isTls);
        connection.socket.pause();
        const body = 'x'.repeat(random.int(150_000) + 1);
        const bytes = signedRequest({ target: `${target}?timeout=1`, method: 'POST', body });
        const isWhole = random.chance(0.7);
        const copies = isWhole ? 1 + random.int(3) : 1;
        const sent = isWhole ? bytes : bytes.subarray(0, random.int(bytes.length));
        connection.write(Buffer.concat(Array.from({ length: copies }, () => sent)));
        await turns(random.int(20));
        // Some requests get a response, some time out, and some still run when their client
        // disconnects.
        if (random.chance(0.5)) for (const done of running.splice(0)) done(answer);
        if (random.chance(0.2)) {
          harness.clock.advanceMicros(1_100_000);
          harness.timers.fire(250);
        }
        await turns(random.int(10));
        if (isWhole) whole += 1;
        // A TLS socket cannot reset its connection.
        if (random.chance(0.5) && !isTls) connection.socket.resetAndDestroy();
        else connection.socket.destroy();
      }
      while (harness.server.inFlight > 0) {
        for (const done of running.splice(0)) done(answer);
        await turns(5);
      }
      assert.ok(whole > 0);
      assert.equal(harness.memory.bytes, 0, `seed ${seed}`);
      for (const done of running.splice(0)) done(answer);
      await turns(5);
      assert.equal(harness.memory.bytes, 0, `seed ${seed}`);
    });
  }
});
