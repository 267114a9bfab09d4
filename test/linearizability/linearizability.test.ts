import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { byLength, costly, sampled } from '../support/run-length.js';
import { Finding } from '../chaos/finding.js';
import type { World } from '../chaos/world.js';
import { startProxy, type Interceptor } from '../support/forwarding-proxy.js';
import { numberSetting, seedSetting } from '../support/sim-settings.js';
import { LinearizabilityRound } from './rounds.js';

// How to repeat and to run longer: docs/internals/correctness.md.

const seed = seedSetting('TABULARIUM_LINEARIZABILITY_SEED');
const rounds = numberSetting('TABULARIUM_LINEARIZABILITY_ROUNDS', byLength({ short: 1, long: 5 }));
const skip = process.platform === 'linux' ? false : 'workers are found in /proc';

/** A proxy in front of the tables of a world. */
async function intercepting(world: World, intercept: Interceptor): Promise<AsyncDisposable> {
  const proxy = await startProxy(`http://127.0.0.1:${world.server.port}`, intercept);
  world.through = { table: Number(new URL(proxy.origin).port), queue: world.server.queuePort };
  return proxy;
}

/** Answers some writes as done without doing them. */
function dropsWrites(): Interceptor {
  let writes = 0;
  return (request, response) => {
    const { method, url = '' } = request;
    if (method !== 'PUT' || !url.includes('RowKey') || ++writes % 5 !== 0) return 'pass';
    request.resume();
    const later = encodeURIComponent(new Date().toISOString().replace('Z', '0000Z'));
    response.writeHead(204, { ETag: `W/"datetime'${later}'"` }).end();
    return 'done';
  };
}

/** Answers some queries with the first result, from when the partition was empty. */
function readsStale(): Interceptor {
  let reads = 0;
  return (request, response) => {
    const { method, url = '' } = request;
    if (method !== 'GET' || !url.includes('filter') || ++reads % 3 !== 0) return 'pass';
    response.writeHead(200, { 'Content-Length': 12 }).end('{"value":[]}');
    return 'done';
  };
}

void describe(`linearizability (seed ${seed})`, { skip }, () => {
  void it(
    `one order explains what all clients saw, over ${rounds} rounds of kills`,
    costly(),
    async (t) => {
      for (let round = 0; round < rounds; round += 1) {
        const checked = await new LinearizabilityRound(seed + round).run();
        t.diagnostic(JSON.stringify(checked));
        assert.ok(checked.operations > checked.unanswered);
      }
    },
  );

  const refused = (error: unknown): boolean =>
    error instanceof Finding && error.message.includes(' is not linearizable: ');

  /** Each takes as long as a round: the short form of the tests has one of them. */
  const refusals: Readonly<Record<string, () => Promise<void>>> = {
    'refuses a server that drops a write it has acknowledged': async () => {
      const round = new LinearizabilityRound(seed);
      await assert.rejects(
        round.run((world) => intercepting(world, dropsWrites())),
        refused,
      );
    },
    'refuses a server that answers reads with old rows': async () => {
      const round = new LinearizabilityRound(seed);
      await assert.rejects(
        round.run((world) => intercepting(world, readsStale())),
        refused,
      );
    },
  };
  for (const [name, run] of sampled(Object.entries(refusals), 1)) void it(name, costly(), run);
});
