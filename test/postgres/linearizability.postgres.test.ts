import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { invariant } from '../../src/base/invariant.js';
import { within } from '../chaos/finding.js';
import { createMainTable, mainTable } from '../crash/load.js';
import { Ledger } from '../crash/ledger.js';
import { check } from '../linearizability/checker.js';
import { History } from '../linearizability/history.js';
import { drawPartitionInput, PartitionClient } from '../linearizability/partition-client.js';
import {
  partitionModel,
  type PartitionInput,
  type PartitionOutput,
} from '../linearizability/partition-model.js';
import { startPostgres, withoutPostgres, type PostgresServer } from '../support/postgres-server.js';
import { byLength } from '../support/run-length.js';
import { SimRandom } from '../support/sim-random.js';
import { numberSetting, seedSetting } from '../support/sim-settings.js';
import { Fleet } from './fleet.js';

const seed = seedSetting('TABULARIUM_LINEARIZABILITY_SEED');
const rounds = numberSetting('TABULARIUM_LINEARIZABILITY_ROUNDS', byLength({ short: 1, long: 30 }));
const servers = 4;
const partitions = 2;
/** For one client in one round: histories with more requests take long to check. */
const requestsMax = 25;

/**
 * One client on each server, for each partition. A server and, in every second round from the
 * first, the database are killed meanwhile: one order must explain all that the clients saw.
 */
void describe(`four servers on one database (seed ${seed})`, { skip: withoutPostgres }, () => {
  let database: PostgresServer | undefined;
  let fleet: Fleet | undefined;
  before(async () => {
    database = await startPostgres();
    fleet = await Fleet.start(database.url, servers);
    const client = fleet.at(0).client();
    await createMainTable(client, new Ledger());
    client.close();
  });
  after(async () => {
    await fleet?.[Symbol.asyncDispose]();
    await database?.dispose();
  });

  void it(`show clients one order of all writes and reads, over ${rounds} rounds of kills`, async (t) => {
    invariant(database !== undefined && fleet !== undefined, 'all of it has been started');
    const random = new SimRandom(seed);
    let serial = 0;
    let operations = 0;
    let unanswered = 0;
    for (let round = 0; round < rounds; round += 1) {
      const histories = Array.from(
        { length: partitions },
        () => new History<PartitionInput, PartitionOutput>(),
      );
      const all = fleet.servers;
      const done = Promise.all(
        histories.flatMap((history, partition) =>
          all.map(async (server) => {
            const wire = server.client();
            const client = new PartitionClient(wire, mainTable, `${round} ${partition}`);
            const seen = new Map<string, string>();
            for (let request = 0; request < requestsMax; request += 1) {
              const input = drawPartitionInput(random, seen, () => ++serial);
              const output = await answerOf(history.record(input, () => client.ask(input)));
              if (output === undefined) break;
              if (output.kind !== 'rows') continue;
              for (const [row, { etag }] of Object.entries(output.rows)) seen.set(row, etag);
            }
            wire.close();
          }),
        ),
      );
      done.catch(() => undefined);
      await pause(random.between(20, 150));
      const victim = random.int(servers);
      await fleet.kill(victim);
      if (round % 2 === 0) {
        await database.stop('SIGQUIT');
        await database.start();
      }
      await within('clients get their answers', done);
      await fleet.replace(victim);
      for (const [partition, history] of histories.entries()) {
        operations += history.operations.length;
        unanswered += history.operations.filter((each) => each.respondedAt === Infinity).length;
        const decision = check(partitionModel, history.operations);
        const lines = history.operations.map((operation) => JSON.stringify(operation));
        assert.equal(decision.kind, 'linearizable', `${round} ${partition}\n${lines.join('\n')}`);
      }
    }
    t.diagnostic(`${operations} operations, ${unanswered} of them without an answer`);
    assert.ok(operations > unanswered);
  });
});

/**
 * Undefined when the connection broke, or the database was away for too long: the request may have
 * been carried out.
 */
async function answerOf<Output>(asked: Promise<Output>): Promise<Output | undefined> {
  try {
    return await asked;
  } catch (error) {
    const broken = /closed without a whole answer|ECONN|EPIPE|answers 503 .*ServerBusy/;
    if (!(error instanceof Error) || !broken.test(error.message)) throw error;
    return undefined;
  }
}
