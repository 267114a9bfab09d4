import assert from 'node:assert/strict';
import type { DequeuedMessage, HeldMessage } from '../../src/services/queues/types.js';
import { hide, renew, secondsAfter, type ModelMessage, type ModelQueue } from './queue-model.js';
import { accounts, type QueueWorld } from './queue-world.js';

const guid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

function someText(world: QueueWorld): string {
  const { random } = world;
  const size = random.weighted({ short: 60, odd: 30, long: 1 });
  if (size === 'short') return `text ${random.int(1000)}`;
  if (size === 'long')
    return random.pick(['x'.repeat(65_536), 'é'.repeat(32_768), '<&>'.repeat(5000)]);
  return random.pick([
    '',
    ' ',
    '\t a \n',
    '\r\n',
    '<a>&amp;</a>',
    ']]>',
    '"\'',
    '日本 😀',
    '\ufffd',
  ]);
}

export async function putMessage(world: QueueWorld): Promise<void> {
  const { random, now } = world;
  const { account, name, queue } = world.place();
  const timeToLiveSeconds = random.pick([1, 2, 5, 20, 60, 604_800, 604_800, 2e9, 1e12, Infinity]);
  const visibilitySeconds = random.chance(0.6)
    ? 0
    : random.int(Math.min(timeToLiveSeconds, random.pick([3, 60, 604_801])));
  const message = { text: someText(world), visibilitySeconds, timeToLiveSeconds };
  const faults = queue === undefined ? ['QueueNotFound'] : [];
  const put = await world.run('putMessage', { account, name, message }, faults, (server) =>
    server.putMessage(account, name, message),
  );
  if (queue === undefined || put === undefined) return;
  assert.match(put.id, guid);
  const model = queue.put(now, {
    id: world.fresh(put.id),
    receipt: world.fresh(put.popReceipt),
    ...message,
  });
  assert.deepEqual(
    [put.insertedMicros, put.expiresMicros, put.nextVisibleMicros],
    [model.insertedMicros, model.expiresMicros, model.nextVisibleMicros].map(world.shownMicros),
  );
}

export async function getMessages(world: QueueWorld): Promise<void> {
  const { random, now } = world;
  const { account, name, queue } = world.place();
  const count = random.pick([1, 1, 2, 5, 32]);
  const visibilitySeconds = random.pick([1, 1, 2, 5, 30, 60, 3600, 604_800]);
  const faults = queue === undefined ? ['QueueNotFound'] : [];
  const options = { count, visibilitySeconds };
  const got = await world.run('getMessages', { account, name, options }, faults, (server) =>
    server.getMessages(account, name, options),
  );
  if (queue === undefined || got === undefined) return;
  const expected = queue.visible(now).slice(0, count);
  assert.deepEqual(
    got.map(({ id }) => id),
    expected.map(({ id }) => id),
    'the messages in turn',
  );
  for (const [index, model] of expected.entries()) {
    const message: DequeuedMessage | undefined = got[index];
    assert.ok(message !== undefined);
    renew(model, world.fresh(message.popReceipt));
    hide(model, now, visibilitySeconds);
    model.dequeueCount += 1;
    world.assertShown(message, model);
    assert.equal(message.nextVisibleMicros, world.shownMicros(model.nextVisibleMicros));
  }
}

export async function peekMessages(world: QueueWorld): Promise<void> {
  const { account, name, queue } = world.place();
  const count = world.random.pick([1, 2, 32, 32]);
  const faults = queue === undefined ? ['QueueNotFound'] : [];
  const peeked = await world.run('peekMessages', { account, name, count }, faults, (server) =>
    server.peekMessages(account, name, count),
  );
  if (queue === undefined || peeked === undefined) return;
  const expected = queue.visible(world.now).slice(0, count);
  assert.deepEqual(
    peeked.map(({ id }) => id),
    expected.map(({ id }) => id),
    'the messages in turn',
  );
  for (const [index, message] of peeked.entries()) {
    const model = expected[index];
    assert.ok(model !== undefined);
    world.assertShown(message, model);
  }
}

interface Presented extends HeldMessage {
  /** The message that this id and receipt must find; undefined when there are faults. */
  readonly message: ModelMessage | undefined;
  readonly faults: readonly string[];
}

/** An id and a receipt as a client sends them, mostly the current ones. */
function presented(world: QueueWorld, queue: ModelQueue | undefined): Presented {
  const { random, now } = world;
  const live = queue?.live(now) ?? [];
  const faults = queue === undefined ? ['QueueNotFound'] : [];
  const kind = random.weighted({
    current: 70,
    stale: 10,
    foreign: 8,
    elsewhere: 4,
    gone: 8,
    mangled: 8,
    id: 4,
  });
  const some = live.length === 0 ? undefined : random.pick(live);
  if (kind === 'gone' || some === undefined) {
    const gone = world.buried();
    const id = gone?.id ?? random.uuid();
    const popReceipt = gone?.receipt ?? 'none';
    const malformed = gone === undefined ? ['InvalidQueryParameterValue'] : [];
    return {
      id,
      popReceipt,
      message: undefined,
      faults: [...faults, 'MessageNotFound', ...malformed],
    };
  }
  const { id, receipt, oldReceipts } = some;
  const refused = { message: undefined, faults: [...faults, 'MessageNotFound'] };
  if (kind === 'stale' && oldReceipts.length > 0) {
    return { id, popReceipt: random.pick(oldReceipts), ...refused };
  }
  if (kind === 'foreign') {
    const other = someMessage(world);
    if (other !== undefined && other !== some) return { id, popReceipt: other.receipt, ...refused };
  }
  if (kind === 'elsewhere') {
    const other = someMessage(world);
    if (other !== undefined && !live.includes(other)) {
      return { id: other.id, popReceipt: other.receipt, ...refused };
    }
  }
  if (kind === 'mangled') return { id, ...mangled(world, receipt, faults) };
  if (kind === 'id') {
    const strange = random.pick([random.uuid(), 'no-guid', `${id}0`, id.slice(1)]);
    return { id: strange, popReceipt: receipt, ...refused };
  }
  return { id, popReceipt: receipt, message: some, faults };
}

/** A random unexpired message of any queue. */
function someMessage(world: QueueWorld): ModelMessage | undefined {
  const all = accounts.flatMap((account) =>
    [...world.accounts[account].values()].flatMap((queue) => queue.live(world.now)),
  );
  return all.length === 0 ? undefined : world.random.pick(all);
}

function mangled(
  { random }: QueueWorld,
  receipt: string,
  faults: readonly string[],
): Omit<Presented, 'id'> {
  const nonsense = random.pick(['x', 'not a receipt', '*'.repeat(receipt.length), `${receipt}=`]);
  const at = random.int(receipt.length);
  const changed = random.pick('AQgwz059-_'.split('').filter((letter) => letter !== receipt[at]));
  const similar = `${receipt.slice(0, at)}${changed}${receipt.slice(at + 1)}`;
  const invalid = [...faults, 'InvalidQueryParameterValue'];
  // Text that resembles a receipt may be treated as a stale one.
  return random.chance(0.5)
    ? { popReceipt: nonsense, message: undefined, faults: invalid }
    : { popReceipt: similar, message: undefined, faults: [...invalid, 'MessageNotFound'] };
}

export async function updateMessage(world: QueueWorld): Promise<void> {
  const { random, now } = world;
  const { account, name, queue } = world.place();
  const { id, popReceipt, message, faults } = presented(world, queue);
  const visibilitySeconds = random.pick([0, 0, 1, 5, 60, 3600, 604_800]);
  const text = random.chance(0.4) ? { text: someText(world) } : {};
  const change = { id, popReceipt, visibilitySeconds, ...text };
  const tooLate =
    message !== undefined && secondsAfter(now, visibilitySeconds) > message.expiresMicros;
  const renewal = await world.run(
    'updateMessage',
    { account, name, change },
    tooLate ? [...faults, 'InvalidQueryParameterValue'] : faults,
    (server) => server.updateMessage(account, name, change),
  );
  if (message === undefined || renewal === undefined) return;
  renew(message, world.fresh(renewal.popReceipt));
  hide(message, now, visibilitySeconds);
  if (text.text !== undefined) message.text = text.text;
  assert.equal(renewal.nextVisibleMicros, world.shownMicros(message.nextVisibleMicros));
}

export async function deleteMessage(world: QueueWorld): Promise<void> {
  const { account, name, queue } = world.place();
  const { id, popReceipt, message, faults } = presented(world, queue);
  await world.run('deleteMessage', { account, name, id, popReceipt }, faults, (server) =>
    server.deleteMessage(account, name, { id, popReceipt }),
  );
  if (message === undefined) return;
  queue?.remove(message.id);
  world.bury(message);
}

export async function clearMessages(world: QueueWorld): Promise<void> {
  const { account, name, queue } = world.place();
  const faults = queue === undefined ? ['QueueNotFound'] : [];
  await world.run('clearMessages', { account, name }, faults, (server) =>
    server.clearMessages(account, name),
  );
  for (const message of queue?.live(world.now) ?? []) world.bury(message);
  queue?.clear();
}
