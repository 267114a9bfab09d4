import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { manualClock } from '../base/clock.js';
import { openMemoryContent } from '../content/memory/content.js';
import { propertyBagOf } from '../model/bag/bag.js';
import { backendOver, openStore } from './backend.js';
import { settingsOf } from './settings.js';

const second = 1_000_000;
const day = 86_400 * second;
const account = 'acct';
const queue = 'tasks';

/** Processes that serve one data directory in sequence, on a machine whose clock can be set. */
async function machine(context: TestContext) {
  const location = await mkdtemp(join(tmpdir(), 'tabularium-clock-'));
  context.after(() => rm(location, { recursive: true, force: true }));
  const clock = manualClock();
  const run = async () => {
    const settings = settingsOf({ location, clock });
    const store = await openStore(settings, 'exclusive');
    context.after(() => store.close());
    const { queues, tables } = backendOver({ store, content: openMemoryContent() }, settings);
    const put = (text: string, seconds: { visibility?: number; timeToLive?: number } = {}) =>
      queues.putMessage(account, queue, {
        text,
        visibilitySeconds: seconds.visibility ?? 0,
        timeToLiveSeconds: seconds.timeToLive ?? 3_600,
      });
    const get = async (visibilitySeconds = 30) => {
      const found = await queues.getMessages(account, queue, { count: 32, visibilitySeconds });
      return found.map(({ text }) => text);
    };
    return { queues, tables, put, get, end: () => store.close() };
  };
  return { clock, run };
}

describe('a server whose machine is set back by a day', () => {
  it('still hands out the messages that were there', async (t) => {
    const { clock, run } = await machine(t);
    const { queues, put, get } = await run();
    await queues.createQueue(account, queue, []);
    await put('now');
    await put('in a minute', { visibility: 60 });
    clock.advanceMicros(-day);
    assert.equal((await queues.peekMessages(account, queue, 32)).length, 1);
    assert.deepEqual(await get(), ['now']);
    await put('afterwards');
    assert.deepEqual(await get(), ['afterwards']);
    clock.advanceMicros(70 * second);
    assert.deepEqual((await get()).sort(), ['afterwards', 'in a minute', 'now']);
  });

  it('hands them out after a restart, and knows how late it was', async (t) => {
    const { clock, run } = await machine(t);
    const first = await run();
    await first.queues.createQueue(account, queue, []);
    await first.put('before');
    clock.advanceMicros(-day);
    await first.end();
    const restarted = await run();
    await restarted.put('short', { timeToLive: 60 });
    assert.deepEqual(await restarted.get(), ['before', 'short']);
    clock.advanceMicros(70 * second);
    assert.deepEqual(await restarted.get(), ['before']);
  });

  it('gives entities timestamps that go on', async (t) => {
    const { clock, run } = await machine(t);
    const { tables } = await run();
    await tables.createTable(account, 'data');
    const insert = async (rowKey: string): Promise<number> => {
      const entity = { partitionKey: 'p', rowKey, properties: propertyBagOf([]) };
      const result = await tables.write(account, 'data', { kind: 'insert', entity });
      return result?.version ?? 0;
    };
    const before = await insert('a');
    clock.advanceMicros(-day);
    clock.advanceMicros(10 * second);
    const after = await insert('b');
    assert.ok(after - before >= 8 * second && after - before < 11 * second, `${after - before}`);
  });
});
