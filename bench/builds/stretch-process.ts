// `stretch-process.js REPOSITORY KIND CONNECTIONS [DURABILITY]`: a server of a compiled repository
// and its load in one process. Each message is a number of requests; the answer is the processor
// time that each of them took, in microseconds, client and server together.
import { createSecretKey } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { createServer as CreateServer } from '../../src/app/index.js';
import { developmentAccount } from '../../src/services/accounts/directory.js';
import { BlobData, blobCreation, blobLoading, makeBlobWorkload } from '../blob-workloads.js';
import { defaultBlobs, defaultRows } from '../dataset.js';
import type { Target } from '../http-request.js';
import {
  blobPlan,
  isBlobKind,
  isQueueKind,
  queuePlan,
  serviceOf,
  tablePlan,
  workloadKinds,
  type WorkloadKind,
} from '../kinds.js';
import { runLoad, type Workload } from '../load.js';
import { makeQueueWorkload, puts, queueCreation } from '../queue-workloads.js';
import { dataLoading, makeTableWorkload, TableData, tableCreation } from '../table-workloads.js';
import { StretchLoad } from './stretch-load.js';

/** Messages that a connection may hold or find missing in a queue that is not empty. */
const sparePerConnection = 96;

const [, , repository = '', kindText = '', connectionsText = '8', durability] = process.argv;
const connections = Number(connectionsText);
const kind = workloadKinds.find((each) => each === kindText) ?? 'point';

const main = pathToFileURL(join(repository, 'dist', 'src', 'app', 'index.js')).href;
const { createServer } = (await import(main)) as { createServer: typeof CreateServer };
const directory = mkdtempSync(join(tmpdir(), 'tabularium-builds-'));
const options = {
  location: directory,
  durability: durability === 'durable' ? 'durable' : 'relaxed',
  tablePort: 0,
  queuePort: 0,
} as const;
const server = await createServer({ ...options, blobPort: 0 }).catch((error: unknown) => {
  // A build from before the blob service.
  if (error instanceof Error && error.message.includes("'blobPort'")) return createServer(options);
  throw error;
});
const ports = { table: server.tablePort, queue: server.queuePort, blob: server.blobPort };

async function sendAll(target: Target, workload: Workload, over = connections): Promise<void> {
  await runLoad(target, workload, { connections: over, warmupMs: 0, durationMs: Infinity });
}

async function prepared(target: Target): Promise<Workload> {
  if (isQueueKind(kind)) {
    const { queue, waiting } = queuePlan(kind);
    await sendAll(target, queueCreation(target, queue), 1);
    await sendAll(target, puts(target, queue, waiting + sparePerConnection * connections));
    return makeQueueWorkload(kind, target);
  }
  if (isBlobKind(kind)) {
    await sendAll(target, blobCreation(target), 1);
    await sendAll(
      target,
      blobLoading(target, blobPlan(kind).readsContainer ? defaultBlobs : 0, () => undefined),
    );
    return makeBlobWorkload(kind, target, new BlobData(defaultBlobs));
  }
  await sendAll(target, tableCreation(target), 1);
  const data = new TableData(defaultRows);
  await sendAll(
    target,
    dataLoading(target, data, () => undefined),
  );
  return makeTableWorkload(tablePlan(kind).operation, target, data);
}

/** The messages that a stretch will take are put before it. */
async function replenish(target: Target, of: WorkloadKind, requests: number): Promise<void> {
  if (!isQueueKind(of) || queuePlan(of).operation === 'put') return;
  await sendAll(target, puts(target, queuePlan(of).queue, requests));
}

const target: Target = {
  host: '127.0.0.1',
  port: ports[serviceOf(kind)],
  account: {
    name: developmentAccount.name,
    key: createSecretKey(Buffer.from(developmentAccount.keys[0] ?? '', 'base64')),
  },
};
const load = new StretchLoad(target, await prepared(target), connections);

async function measure(requests: number): Promise<number> {
  await replenish(target, kind, requests);
  const before = process.cpuUsage();
  await load.run(requests);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / requests;
}

async function end(): Promise<void> {
  load.close();
  await server.close();
  rmSync(directory, { recursive: true, force: true });
  process.exit(0);
}

process.on('message', (requests) => {
  void measure(Number(requests)).then((micros) => process.send?.(micros));
});
process.on('disconnect', () => void end());
process.on('SIGINT', () => undefined);
process.send?.(0);
