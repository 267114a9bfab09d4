// One way to use a table, in a process of its own: `contestant.js NAME URL ACCOUNT KEY TABLE`. It
// tells when its table is filled, then runs the blocks that it is told to run.
import { AzureNamedKeyCredential, TableClient } from '@azure/data-tables';
import { median } from '../figures.js';
import type { BlockOrder, BlockResult } from './comparison.js';
import {
  fillByClient,
  fillByEntities,
  operationsOfClient,
  operationsOfEntities,
} from './operations.js';

async function runBlock(call: () => Promise<void>, calls: number): Promise<BlockResult> {
  const times: number[] = [];
  const before = process.cpuUsage();
  for (let index = 0; index < calls; index += 1) {
    const started = performance.now();
    await call();
    times.push((performance.now() - started) * 1000);
  }
  const { user, system } = process.cpuUsage(before);
  return { micros: median(times), cpuMicros: (user + system) / calls };
}

const [, , name = '', url = '', account = '', key = '', table = ''] = process.argv;

const client = new TableClient(url, table, new AzureNamedKeyCredential(account, key), {
  allowInsecureConnection: true,
});
const isModelled = name === 'entities';
await client.createTable();
await (isModelled ? fillByEntities(client) : fillByClient(client));
const operations = isModelled ? operationsOfEntities(client) : operationsOfClient(client);

process.on('message', (message) => {
  const { operation, calls } = message as BlockOrder;
  void runBlock(operations[operation], calls).then((result) => process.send?.(result));
});
process.on('disconnect', () => process.exit(0));
process.on('SIGINT', () => {});
process.send?.('ready');
