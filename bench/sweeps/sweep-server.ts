// The server whose sweeps are measured, in a process of its own:
// `sweep-server.js DIRECTORY durable|journal GARBAGE`. It makes the data that will be garbage
// before it listens, without HTTP. To any message it answers the milliseconds of the longest turn
// of its event loop since the message before.
import { createServer } from '../../src/app/index.js';
import { systemClock } from '../../src/base/clock.js';
import { forwardClock } from '../../src/base/forward-clock.js';
import { systemRandomness } from '../../src/base/randomness.js';
import { propertyBagOf } from '../../src/model/bag/bag-builder.js';
import { openLmdbStore } from '../../src/engines/lmdb/store.js';
import { QueueService } from '../../src/services/queues/queue-service.js';
import { TableService } from '../../src/services/tables/table-service.js';
import { endWithParent, reportPorts } from '../child.js';
import { prose } from '../dataset.js';
import { messageText } from '../queue-workloads.js';
import { TurnWatch } from '../stalls/turn-watch.js';
import { account, garbageQueue, garbageTable, type Garbage } from './garbage.js';

const [, , location = '', durability, garbageText = ''] = process.argv;
const garbage = JSON.parse(garbageText) as Garbage;
/** The number of commits that share one sync. */
const inFlight = 256;
const rowsPerTransaction = 100;
const proseLength = 500;

async function fill(): Promise<void> {
  const clock = forwardClock(systemClock);
  const store = await openLmdbStore({ directory: location, clock, durability: 'relaxed' });
  const tables = new TableService({ store, clock });
  const queues = new QueueService({ store, clock, randomness: systemRandomness });
  if (garbage.rows > 0) await fillTable(tables);
  if (garbage.messages > 0) await fillQueue(queues, clock);
  await store.close();
}

async function fillTable(tables: TableService): Promise<void> {
  await tables.createTable(account, garbageTable);
  const perTransaction = Math.min(rowsPerTransaction, garbage.partitionRows);
  await eachOf(Math.ceil(garbage.rows / perTransaction), async (transaction) => {
    const operations = Array.from({ length: perTransaction }, (_, index) => {
      const row = transaction * perTransaction + index;
      const partition = Math.floor(row / garbage.partitionRows);
      const value = { type: 'Edm.String', value: prose(row, proseLength) } as const;
      const entity = {
        partitionKey: `p${String(partition).padStart(9, '0')}`,
        rowKey: `r${String(row).padStart(9, '0')}`,
        properties: propertyBagOf([{ name: 'Text', value }]),
      };
      return { kind: 'insert', entity } as const;
    });
    await tables.transact(account, garbageTable, operations);
  });
}

async function fillQueue(
  queues: QueueService,
  clock: ReturnType<typeof forwardClock>,
): Promise<void> {
  await queues.createQueue(account, garbageQueue, []);
  const expiresMicros = clock.nowMicros() + garbage.expireSeconds * 1e6;
  await eachOf(garbage.messages, async () => {
    const timeToLiveSeconds = (expiresMicros - clock.nowMicros()) / 1e6;
    const message = { text: messageText, visibilitySeconds: 0, timeToLiveSeconds };
    await queues.putMessage(account, garbageQueue, message);
  });
}

async function eachOf(count: number, work: (index: number) => Promise<void>): Promise<void> {
  let begun = 0;
  const workOn = async (): Promise<void> => {
    while (begun < count) {
      begun += 1;
      await work(begun - 1);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, workOn));
}

await fill();
const server = await createServer({
  location,
  durability: 'durable',
  journal: durability === 'journal' ? 'on' : 'off',
});
reportPorts({ table: server.tablePort, queue: server.queuePort, blob: server.blobPort });
endWithParent(() => server.close());

const turns = new TurnWatch();
process.on('message', () => {
  process.send?.(turns.longestMs());
});
