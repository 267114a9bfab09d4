import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { journalDirectory } from '../../../test/support/journals.js';
import { byLength, costly } from '../../../test/support/run-length.js';
import { manualClock } from '../../base/clock.js';
import { forwardClock } from '../../base/forward-clock.js';
import { systemRandomness } from '../../base/randomness.js';
import { partitionPrefix } from '../../kv/partition-prefix.js';
import type { Ingestion } from '../../kv/ingestion.js';
import type { CommitBatch, Store } from '../../kv/store.js';
import { encodeTuple, prefixRange } from '../../kv/tuple.js';
import { QueueService } from '../../services/queues/queue-service.js';
import { noteKey } from './base-note.js';
import type { JournalBase } from './store.js';

const prefix = partitionPrefix('T', 'account', 1, 'p');
const whole = prefixRange(prefix);
const everything = { limit: Infinity, bytesMax: Infinity };

function keyOf(row: number): Uint8Array {
  return Buffer.concat([prefix, encodeTuple([`${row}`])]);
}

/** Counts the keys, that of the note aside, which a base is told. */
function counted(told: { keys: number }): (base: JournalBase) => JournalBase {
  return (base) => {
    const ingest = base.ingest.bind(base);
    base.ingest = async (ingestion: Ingestion) => {
      const notes = ingestion.entries.filter(({ key }) => Buffer.from(noteKey).equals(key)).length;
      told.keys += ingestion.entries.length + ingestion.deletes.length - notes;
      await ingest(ingestion);
    };
    return base;
  };
}

async function contentOf(store: Store): Promise<readonly string[]> {
  const { entries } = await store.range(whole, everything);
  return entries.map(({ key, value }) => `${Buffer.from(key).toString('hex')} ${value[0]}`);
}

describe('a key that is new', () => {
  it('never reaches the base when it is deleted before a pass', async () => {
    await using made = await journalDirectory();
    const told = { keys: 0 };
    const store = await made.open({ base: counted(told) });
    const clock = manualClock();
    const queues = new QueueService({
      store,
      clock: forwardClock(clock),
      randomness: systemRandomness,
    });
    await queues.createQueue('acct', 'tasks', []);
    await store.takeSnapshot();
    const before = told.keys;
    const count = 50;
    const texts = Array.from({ length: count }, (_, number) => `message ${number}`);
    const times = { visibilitySeconds: 0, timeToLiveSeconds: 3_600 };
    await Promise.all(texts.map((text) => queues.putMessage('acct', 'tasks', { text, ...times })));
    let deleted = 0;
    while (deleted < count) {
      const got = await queues.getMessages('acct', 'tasks', { count: 32, visibilitySeconds: 30 });
      for (const { id, popReceipt } of got) {
        const renewed = await queues.updateMessage('acct', 'tasks', {
          id,
          popReceipt,
          visibilitySeconds: 60,
        });
        await queues.deleteMessage('acct', 'tasks', { id, popReceipt: renewed.popReceipt });
      }
      deleted += got.length;
    }
    await store.takeSnapshot();
    assert.equal(told.keys - before, 1, 'the count of the queue alone reached the base');
    await store.close();
  });

  it(
    'is there or not as its last commit says, over groups, passes and ends of processes',
    costly(),
    async () => {
      const row = fc.nat(1);
      const step = fc.oneof(
        { weight: 6, arbitrary: fc.record({ kind: fc.constant('put' as const), row }) },
        { weight: 6, arbitrary: fc.record({ kind: fc.constant('delete' as const), row }) },
        { weight: 3, arbitrary: fc.record({ kind: fc.constant('settled' as const), row }) },
        { weight: 2, arbitrary: fc.record({ kind: fc.constant('pass' as const), row }) },
        { weight: 1, arbitrary: fc.record({ kind: fc.constant('end' as const), row }) },
      );
      await fc.assert(
        fc.asyncProperty(
          fc.array(step, { minLength: 1, maxLength: 60, size: 'max' }),
          async (steps) => {
            await using made = await journalDirectory();
            let store = await made.open();
            const model = new Map<number, number>();
            const pending: Promise<unknown>[] = [];
            const commit = (batch: Partial<CommitBatch>) =>
              pending.push(store.commit({ checks: [], puts: [], deletes: [], ...batch }));
            const expected = () =>
              [...model]
                .toSorted(([one], [other]) => one - other)
                .map(([at, number]) => `${Buffer.from(keyOf(at)).toString('hex')} ${number}`);
            const settle = async () => {
              await Promise.all(pending.splice(0));
              assert.deepEqual(await contentOf(store), expected());
            };
            for (const [number, { kind, row: at }] of steps.entries()) {
              const key = keyOf(at);
              if (kind === 'put') {
                commit({ puts: [{ key, value: Buffer.of(number), isNew: !model.has(at) }] });
                model.set(at, number);
              } else if (kind === 'delete') {
                commit({ deletes: [key] });
                model.delete(at);
              } else {
                await settle();
                if (kind === 'pass') await store.takeSnapshot();
                if (kind === 'end') store = await made.open();
              }
            }
            await settle();
            await store.close();
            assert.deepEqual(await contentOf(made.memory), expected());
          },
        ),
        { numRuns: byLength({ short: 100, long: 2_000 }) },
      );
    },
  );
});
