import { after, before, describe, it } from 'node:test';
import { manualClock } from '../../src/base/clock.js';
import { invariant } from '../../src/base/invariant.js';
import { withRestarts } from '../sim/restarted-server.js';
import { simulateQueues } from '../sim/queue-simulation.js';
import { simulate } from '../sim/simulation.js';
import { postgresUnderTest } from '../support/engine-postgres.js';
import { startPostgres, withoutPostgres, type PostgresServer } from '../support/postgres-server.js';
import { queueServices } from '../support/queue-services.js';
import { byLength } from '../support/run-length.js';
import { SimRandom } from '../support/sim-random.js';
import { numberSetting, seedSetting } from '../support/sim-settings.js';

// How to repeat a failure and how to run longer: docs/internals/correctness.md.

const seed = seedSetting('TABULARIUM_SIM_SEED');
const steps = numberSetting('TABULARIUM_SIM_STEPS', byLength({ short: 200, long: 5_000 }));

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

  void it('a server that is started again and again answers as the model of tables', () =>
    withRestarts({ postgresUrl: url() }, (server) =>
      simulate({ ...server, steps, random: new SimRandom(seed) }),
    ));

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
