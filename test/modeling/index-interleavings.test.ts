import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { defineEntity, int32, key, string, type StoredRow } from '../../src/modeling/index.js';
import {
  indexedEntitiesOf,
  indexEntity,
  otherPartition,
  withIndexes,
} from '../../src/modeling/patterns/indexes/index.js';
import { isOutboxRow } from '../../src/modeling/patterns/transactional-outbox/outbox-row.js';
import { isLong, costly } from '../support/run-length.js';
import { SimRandom } from '../support/sim-random.js';
import { handleIntent, testOutbox } from './support/index-outbox.js';
import { impatientTimers } from './support/impatient-timers.js';
import { MemoryRows, MemoryTable } from './support/memory-table.js';
import { Turns } from './support/turns.js';

// Writers and workers of indexes elsewhere, whose requests are interleaved at random. Two workers
// may handle one intent at once. One that has its intent alone may be killed at any request; then
// the intent is handled again.

const Person = defineEntity({
  type: 'Person',
  properties: { id: int32(), email: string(), town: string() },
  partitionKey: () => key`people`,
  rowKey: (p) => key`id_${p.id.padded(3)}`,
});
const indexes = withIndexes(Person, {
  email: otherPartition({ partitionKey: () => key`email`, rowKey: (p) => key`${p.email}` }),
  town: indexEntity({
    place: 'other-partition',
    partitionKey: () => key`town`,
    rowKey: (p) => key`${p.town}`,
  }),
});

class Killed extends Error {}

function open(table: MemoryTable) {
  const outbox = testOutbox(table);
  return indexedEntitiesOf(indexes, { table, outbox }, { timers: impatientTimers });
}

async function runOnce(seed: number): Promise<void> {
  const random = new SimRandom(seed);
  const rows = new MemoryRows();
  const turns = new Turns(random);
  const waiting = (): readonly StoredRow[] => rows.all.filter(isOutboxRow);
  const forget = (row: StoredRow): void => {
    if (rows.get(row) !== undefined) rows.apply([{ kind: 'delete', key: row, etag: '*' }]);
  };
  const writer = async (id: number): Promise<void> => {
    const people = open(new MemoryTable(rows, { before: turns.wait }));
    for (let step = 0; step < 5; step += 1) {
      const place = random.int(3);
      const person = { id, email: `${id}${place}@x`, town: `t${place}` };
      if (random.chance(0.1)) await people.deleteIfExists({ id });
      else await people.upsertReplace(person);
    }
  };
  /** Workers by the RowKey of the intent that they handle. */
  const busy = new Map<string, number>();
  const worker = async (): Promise<void> => {
    for (let count = 0; count < 6; count += 1) {
      await turns.wait();
      const intents = waiting();
      const intent = intents[random.int(intents.length)];
      if (intent === undefined) continue;
      let left = random.chance(0.5) ? random.int(8) : Infinity;
      const dying = async (): Promise<void> => {
        await turns.wait();
        left -= 1;
        const isAlone = busy.get(intent.rowKey) === 1 && rows.get(intent) !== undefined;
        if (left < 0 && isAlone) throw new Killed();
      };
      busy.set(intent.rowKey, (busy.get(intent.rowKey) ?? 0) + 1);
      const people = open(new MemoryTable(rows, { before: turns.wait, after: dying }));
      try {
        await handleIntent(people.handler, intent);
        forget(intent);
      } catch (error) {
        if (!(error instanceof Killed)) throw error;
      } finally {
        busy.set(intent.rowKey, (busy.get(intent.rowKey) ?? 1) - 1);
      }
    }
  };
  await turns.run([writer(1), worker(), worker(), worker()]);
  const people = open(new MemoryTable(rows));
  for (const intent of waiting()) {
    await handleIntent(people.handler, intent);
    forget(intent);
  }
  const found = rows.all.filter(({ partitionKey }) => partitionKey === 'people');
  const text = (row: StoredRow, name: string) => String(row.properties[name]?.value);
  assert.deepEqual(
    rows.all.filter(({ partitionKey }) => partitionKey === 'email').map(({ rowKey }) => rowKey),
    found.map((row) => text(row, 'email')).sort(),
    `copies, seed ${seed}`,
  );
  const lists = rows.all.filter(({ partitionKey }) => partitionKey === 'town');
  const listed = lists.flatMap((row) =>
    (JSON.parse(text(row, 'Keys')) as readonly string[]).map((each) => `${row.rowKey} ${each}`),
  );
  assert.equal(listed.length, found.length, `lists, seed ${seed}: ${listed.join(', ')}`);
  for (const row of found) {
    const { rowKey } = row;
    const entry = listed.find((each) => each.includes(rowKey));
    assert.ok(entry?.startsWith(text(row, 'town')), `lists, seed ${seed}: ${listed.join(', ')}`);
  }
}

describe('indexes elsewhere', () => {
  it(
    'end right, however writers and workers overtake each other and are killed',
    costly(),
    async () => {
      for (let seed = 1; seed <= (isLong ? 3000 : 120); seed += 1) await runOnce(seed);
    },
  );
});
