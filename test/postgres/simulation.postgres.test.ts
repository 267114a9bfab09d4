import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createServer } from '../../src/app/index.js';
import { manualClock, systemClock, type Clock } from '../../src/base/clock.js';
import { invariant } from '../../src/base/invariant.js';
import { simulateQueues } from '../sim/queue-simulation.js';
import { simulate } from '../sim/simulation.js';
import { postgresUnderTest } from '../support/engine-postgres.js';
import { startPostgres, withoutPostgres, type PostgresServer } from '../support/postgres-server.js';
import { queueServices } from '../support/queue-services.js';
import { byLength } from '../support/run-length.js';
import { SimRandom } from '../support/sim-random.js';
import { numberSetting, seedSetting } from '../support/sim-settings.js';
import { WireClient } from '../wire/kit/client.js';

// How to repeat a failure and how to run longer: docs/internals/correctness.md.

const seed = seedSetting('TABULARIUM_SIM_SEED');
const steps = numberSetting('TABULARIUM_SIM_STEPS', byLength({ short: 200, long: 5_000 }));
const hourMicros = 3600 * 1_000_000;

void describe(`over PostgreSQL (seed ${seed})`, { skip: withoutPostgres }, () => {
  let database: PostgresServer | undefined;
  before(async () => {
    database = await startPostgres();
  });
  after(() => database?.dispose());
  const url = (): string => {
    invariant(database !== undefined, 'the database has been started');
    return database.url;
  };

  void it('a server that is started again and again answers as the model of tables', async () => {
    const location = await mkdtemp(join(tmpdir(), 'tabularium-sim-'));
    let restarts = 0;
    // At each restart the clock is an hour behind: versions must rise nevertheless.
    const clock: Clock = {
      ...systemClock,
      nowMicros: () => systemClock.nowMicros() - restarts * hourMicros,
    };
    const options = { location, postgresUrl: url(), clock, checkClockSkew: false };
    let server = await createServer(options);
    let client = WireClient.of(server);
    const restart = async () => {
      client.close();
      await server.close();
      restarts += 1;
      server = await createServer(options);
      client = WireClient.of(server);
      return client;
    };
    try {
      await simulate({ client, steps, restart, restarts: 5, random: new SimRandom(seed) });
    } finally {
      client.close();
      await server.close();
      await rm(location, { recursive: true, force: true });
    }
  });

  void it('two services on one store answer as the model of queues', async () => {
    const clock = manualClock(1_700_000_000_123_457);
    const engine = await postgresUnderTest({ url: url(), clock });
    const randomness = new SimRandom(seed + 1);
    let { store } = engine;
    const start = () => queueServices(2, { store, clock, randomness });
    let services = start();
    await simulateQueues({
      random: new SimRandom(seed),
      clock,
      steps,
      servers: { operations: services, housekeeping: services },
      shownMicros: (micros) => micros,
      restarts: 5,
      async restart() {
        store = await engine.reopen();
        services = start();
        return { operations: services, housekeeping: services };
      },
    });
    await engine.dispose();
  });
});
