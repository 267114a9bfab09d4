import assert from 'node:assert/strict';
import type { Metadata } from '../../src/model/resources/metadata.js';
import type { SignedIdentifier } from '../../src/model/resources/signed-identifier.js';
import { isSameMetadata, ModelQueue, queueNames } from './queue-model.js';
import { accounts, type QueueWorld } from './queue-world.js';

const pagesMax = 100;

function someMetadata(world: QueueWorld): Metadata {
  const { random } = world;
  const names = new Map<string, string>();
  for (let left = random.pick([0, 0, 1, 1, 2, 3]); left > 0; left -= 1) {
    const name = random.pick(['colour', 'Colour', 'size', 'SIZE', '_x', 'a1']);
    const taken = [...names.keys()].some((each) => each.toLowerCase() === name.toLowerCase());
    if (!taken) names.set(name, random.pick(['blue', 'Blue', '0', 'a b', '~!@#$%^&*()']));
  }
  return [...names];
}

/** Equal metadata in another spelling and order. */
function rewritten(world: QueueWorld, metadata: Metadata): Metadata {
  const cased = metadata.map(([name, value]): [string, string] => [
    world.random.chance(0.5) ? name.toUpperCase() : name,
    value,
  ]);
  return world.random.chance(0.5) ? cased : cased.toReversed();
}

export async function createQueue(world: QueueWorld): Promise<void> {
  const account = world.random.pick(accounts);
  const name = world.anyName();
  const existing = world.accounts[account].get(name);
  const metadata =
    existing !== undefined && world.random.chance(0.6)
      ? rewritten(world, existing.metadata)
      : someMetadata(world);
  const differs = existing !== undefined && !isSameMetadata(existing.metadata, metadata);
  const result = await world.run(
    'createQueue',
    { account, name, metadata },
    differs ? ['QueueAlreadyExists'] : [],
    (server) => server.createQueue(account, name, metadata),
  );
  if (differs) return;
  assert.equal(result, existing === undefined ? 'created' : 'existed');
  if (existing === undefined) world.accounts[account].set(name, new ModelQueue(metadata));
}

export async function deleteQueue(world: QueueWorld): Promise<void> {
  const { account, name, queue } = world.place();
  const faults = queue === undefined ? ['QueueNotFound'] : [];
  await world.run('deleteQueue', { account, name }, faults, (server) =>
    server.deleteQueue(account, name),
  );
  for (const message of queue?.live(world.now) ?? []) world.bury(message);
  world.accounts[account].delete(name);
}

export async function getQueue(world: QueueWorld): Promise<void> {
  const { account, name, queue } = world.place();
  const faults = queue === undefined ? ['QueueNotFound'] : [];
  const status = await world.run('getQueue', { account, name }, faults, (server) =>
    server.getQueue(account, name),
  );
  if (queue === undefined) return;
  assert.deepEqual(status, {
    name,
    metadata: queue.metadata,
    approximateMessageCount: queue.live(world.now).length,
  });
}

export async function setMetadata(world: QueueWorld): Promise<void> {
  const { account, name, queue } = world.place();
  const metadata = someMetadata(world);
  const faults = queue === undefined ? ['QueueNotFound'] : [];
  await world.run('setMetadata', { account, name, metadata }, faults, (server) =>
    server.setMetadata(account, name, metadata),
  );
  if (queue !== undefined) queue.metadata = metadata;
}

/** Lists the queues from first to last page, without changes in between. */
export async function listQueues(world: QueueWorld): Promise<void> {
  const { random } = world;
  const account = random.pick(accounts);
  const prefix = random.pick(['', '', 'j', 'jobs', 'jobs-', 'zz-top', 'q']);
  const limit = random.pick([1, 2, 3, 100]);
  const model = world.accounts[account];
  const expected = queueNames(model, prefix, '').map((name) => ({
    name,
    metadata: model.get(name)?.metadata,
  }));
  let from: string | undefined;
  for (let pages = 0; pages < pagesMax; pages += 1) {
    const query = { prefix, limit, ...(from === undefined ? {} : { from }) };
    const page = await world.run('listQueues', { account, query }, [], async (server) => {
      const { queues, ...rest } = await server.listQueues(account, query);
      return { queues: [...queues], ...rest };
    });
    assert.deepEqual(page?.queues, expected.splice(0, limit));
    assert.equal(page?.next === undefined, expected.length === 0, 'a marker while more is left');
    from = page?.next;
    if (from === undefined) return;
  }
  throw new Error('the list has no end');
}

/**
 * Lists from a random name. Only in process can that name be chosen freely: over HTTP a marker
 * comes from a page.
 */
export async function listFrom(world: QueueWorld): Promise<void> {
  if (world.servers.housekeeping === undefined) return listQueues(world);
  const { random } = world;
  const account = random.pick(accounts);
  const query = {
    prefix: random.pick(['', 'j']),
    from: world.anyName(),
    limit: random.between(1, 4),
  };
  const names = queueNames(world.accounts[account], query.prefix, query.from);
  const page = await world.run('listFrom', { account, query }, [], (server) =>
    server.listQueues(account, query),
  );
  assert.deepEqual(
    Array.from(page?.queues ?? [], ({ name }) => name),
    names.slice(0, query.limit),
  );
  assert.equal(page?.next, names[query.limit]);
}

function someIdentifiers(world: QueueWorld): readonly SignedIdentifier[] {
  const { random } = world;
  return Array.from({ length: random.int(4) }, (_, index) => ({
    id: `policy ${index}`,
    ...(random.chance(0.5) ? { start: '2030-01-01T00:00:00.0000000Z' } : {}),
    ...(random.chance(0.5) ? { expiry: '2031-01-01T00:00:00.1234567Z' } : {}),
    ...(random.chance(0.5) ? { permission: random.pick(['r', 'raup', '']) } : {}),
  }));
}

export async function signedIdentifiers(world: QueueWorld): Promise<void> {
  const { random } = world;
  const { housekeeping } = world.servers;
  if (housekeeping === undefined) return;
  const { account, name, queue } = world.place();
  const faults = queue === undefined ? ['QueueNotFound'] : [];
  if (random.chance(0.5)) {
    const identifiers = someIdentifiers(world);
    await world.run('setSignedIdentifiers', { account, name, identifiers }, faults, () =>
      random.pick(housekeeping).setSignedIdentifiers(account, name, identifiers),
    );
    if (queue !== undefined) queue.identifiers = identifiers;
    return;
  }
  const found = await world.run('getSignedIdentifiers', { account, name }, faults, () =>
    random.pick(housekeeping).getSignedIdentifiers(account, name),
  );
  if (queue !== undefined) assert.deepEqual(found, queue.identifiers);
}
