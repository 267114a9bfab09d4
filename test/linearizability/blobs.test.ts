import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { manualClock } from '../../src/base/clock.js';
import { StorageError } from '../../src/model/errors/storage-error.js';
import type { BlobService } from '../../src/services/blobs/blob-service.js';
import { account, at, blobWorld, body, collected, container } from '../support/blob-world.js';
import { byLength } from '../support/run-length.js';
import { SimRandom } from '../support/sim-random.js';
import { numberSetting, seedSetting } from '../support/sim-settings.js';
import { engineNames, openTestStore, type EngineName } from '../support/stores.js';
import { drawCommit, drawLog } from './blob-draws.js';
import {
  commitModel,
  logModel,
  type CommitInput,
  type CommitOutput,
  type LogInput,
  type LogOutput,
} from './blob-models.js';
import { check, type Model } from './checker.js';
import { History } from './history.js';

// Clients of two services over one store, which know nothing of each other, as processes do.

const seed = seedSetting('TABULARIUM_LINEARIZABILITY_SEED');
const rounds = numberSetting(
  'TABULARIUM_LINEARIZABILITY_ROUNDS',
  byLength({ short: 3, long: 150 }),
);
const clientsOfService = 2;
const requestsOfClient = 10;
const plain = { headers: {}, metadata: [], tags: [] };
const address = at('blob');
const blockId = Buffer.from('id');

async function servicesOver(engine: EngineName, t: TestContext): Promise<readonly BlobService[]> {
  const clock = manualClock();
  const store = await openTestStore(engine, t, clock);
  const { services } = blobWorld(store, { clock, count: 2 });
  const [first] = services;
  await first?.containers.create({ account, container }, { metadata: [], publicAccess: 'none' });
  return services;
}

/** Runs clients of all services, and checks that one order explains what they saw. */
async function explain<State, Input, Output>(
  services: readonly BlobService[],
  random: SimRandom,
  model: Model<State, Input, Output>,
  {
    draw,
    ask,
  }: {
    readonly draw: (known: Output | undefined) => Input;
    readonly ask: (blobs: BlobService, input: Input) => Promise<Output>;
  },
): Promise<number> {
  const history = new History<Input, Output>();
  let known: Output | undefined;
  const client = async (blobs: BlobService): Promise<void> => {
    for (let request = 0; request < requestsOfClient; request += 1) {
      const input = draw(known);
      known = await history.record(input, () => ask(blobs, input));
      for (let turns = random.int(3); turns > 0; turns -= 1) await turn();
    }
  };
  const clients = services.flatMap((each) => Array.from({ length: clientsOfService }, () => each));
  await Promise.all(clients.map(client));
  const decision = check(model, history.operations);
  assert.equal(decision.kind, 'linearizable', JSON.stringify({ decision, history }, undefined, 1));
  return history.operations.length;
}

async function askLog(blobs: BlobService, input: LogInput): Promise<LogOutput> {
  try {
    return await doLog(blobs, input);
  } catch (error) {
    if (error instanceof StorageError) return { kind: 'refused', code: error.code };
    throw error;
  }
}

async function doLog(blobs: BlobService, input: LogInput): Promise<LogOutput> {
  switch (input.kind) {
    case 'read': {
      const { body: bytes } = await blobs.getBlob(address);
      return { kind: 'text', text: (await collected(bytes)).toString() };
    }
    case 'acquire':
      await blobs.leaseBlob(address, {
        kind: 'acquire',
        duration: 'infinite',
        proposedId: input.lease,
      });
      return { kind: 'done' };
    case 'release':
      await blobs.leaseBlob(address, { kind: 'release', id: input.lease });
      return { kind: 'done' };
    default: {
      const { letter, at: appendPosition, lease: leaseId } = input;
      const { offset } = await blobs.appendBlock(address, {
        body: body(letter),
        ...(leaseId === undefined ? {} : { leaseId }),
        ...(appendPosition === undefined ? {} : { append: { appendPosition } }),
      });
      return { kind: 'appended', offset };
    }
  }
}

async function askCommit(blobs: BlobService, input: CommitInput): Promise<CommitOutput> {
  if (input.kind === 'read') {
    const { properties, body: bytes } = await blobs.getBlob(address);
    const block = (await collected(bytes)).toString();
    return { kind: 'is', block, etag: String(properties.modifiedMicros) };
  }
  const { block, ifMatch } = input;
  // One block as often as the text is long: a commit keeps the blocks that it names.
  const blocks = Array.from(block, () => ({ source: 'committed' as const, id: blockId }));
  const list = { ...plain, blocks };
  const conditions = ifMatch === undefined ? {} : { conditions: { ifMatch: [Number(ifMatch)] } };
  try {
    const { modifiedMicros } = await blobs.putBlockList(address, list, conditions);
    return { kind: 'is', block, etag: String(modifiedMicros) };
  } catch (error) {
    if (error instanceof StorageError && error.code === 'ConditionNotMet')
      return { kind: 'refused' };
    throw error;
  }
}

for (const engine of engineNames) {
  void describe(`blobs over ${engine} (seed ${seed})`, () => {
    void it(`one order explains appends and leases, ${rounds} times`, async (t) => {
      for (let round = 0; round < rounds; round += 1) {
        const services = await servicesOver(engine, t);
        const random = new SimRandom(seed + round);
        await services[0]?.putAppendBlob(address, plain);
        const draw = (known: LogOutput | undefined) => drawLog(random, known);
        await explain(services, random, logModel, { draw, ask: askLog });
      }
    });

    void it(`one order explains commits of block lists, ${rounds} times`, async (t) => {
      for (let round = 0; round < rounds; round += 1) {
        const services = await servicesOver(engine, t);
        const [first] = services;
        assert.ok(first !== undefined);
        const random = new SimRandom(seed + round);
        await first.putBlock(address, { id: blockId }, { body: body('x') });
        const blocks = [{ source: 'uncommitted' as const, id: blockId }];
        const { modifiedMicros } = await first.putBlockList(address, { ...plain, blocks });
        const etag = String(modifiedMicros);
        const model = commitModel({ block: 'x', etag });
        const draw = (known: CommitOutput | undefined) => drawCommit(random, known, etag);
        await explain(services, random, model, { draw, ask: askCommit });
      }
    });
  });
}
