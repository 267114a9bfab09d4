// `npm run bench:large-blob -- --gib 10`: uploads a blob in blocks of 8 MiB and downloads it, and
// tells how much memory the server took for it at most.
import { parseArgs } from 'node:util';
import { runBench } from './command.js';
import { row, shortNumber } from './figures.js';
import { expectStatus, runLoad, type Workload } from './load.js';
import { positive } from './options.js';
import { startServer, stopServersAtEnd, type ServerProcess } from './server-process.js';
import { StorageSigner } from './storage-signer.js';

const blockBytes = 8 << 20;
const blocksPerGib = (1 << 30) / blockBytes;
const uploadsAtOnce = 4;
const watchMs = 100;
const path = '/large/blob';

function blockId(block: number): string {
  return Buffer.from(String(block).padStart(8, '0')).toString('base64');
}

/** Sends requests one after the other, each answered with the status. */
function inTurn(count: number, status: number, request: (at: number) => Buffer): Workload {
  let sent = 0;
  return {
    next: () => (sent < count ? request(sent++) : undefined),
    status,
    marker: 'anything',
    occurrences: 0,
  };
}

function download(signer: StorageSigner, bytes: number): Workload {
  const requests = [signer.request({ method: 'GET', path })];
  return {
    next: () => requests.pop(),
    answered(_connection, status, body, received) {
      expectStatus(status, 200, body);
      if (received !== bytes) throw new Error(`The server sent ${received} of ${bytes} bytes.`);
      return 1;
    },
    discardsBodies: true,
  };
}

/** Runs a load to its end. A line of the table: what it took, and of how much memory. */
async function watched(
  server: ServerProcess,
  what: string,
  { workload, connections, bytes }: { workload: Workload; connections: number; bytes: number },
): Promise<string> {
  let residentMb = 0;
  let anonymousMb = 0;
  const look = (): void => {
    const usage = server.usage();
    residentMb = Math.max(residentMb, usage.residentMb ?? Number.NaN);
    anonymousMb = Math.max(anonymousMb, usage.anonymousMb ?? Number.NaN);
  };
  const before = server.usage().cpuSeconds ?? Number.NaN;
  const timer = setInterval(look, watchMs);
  const options = { connections, warmupMs: 0, durationMs: Infinity };
  const { seconds } = await runLoad(server.target, workload, options);
  clearInterval(timer);
  look();
  const mebibytes = bytes / (1 << 20);
  const processor = ((server.usage().cpuSeconds ?? Number.NaN) - before) * 1000;
  const figures = [mebibytes / seconds, processor / mebibytes, residentMb, anonymousMb];
  return row([what, ...figures.map(shortNumber)]);
}

async function run(gib: number): Promise<void> {
  const blocks = gib * blocksPerGib;
  const bytes = blocks * blockBytes;
  const server = await startServer('tabularium', 'blob', {});
  try {
    const signer = new StorageSigner(server.target, 'blob');
    const query = [['restype', 'container']] as const;
    const creation = inTurn(1, 201, () => signer.request({ method: 'PUT', path: '/large', query }));
    const once = { connections: 1, warmupMs: 0, durationMs: Infinity };
    await runLoad(server.target, creation, once);
    const body = Buffer.alloc(blockBytes, 'tabularium');
    const upload = inTurn(blocks, 201, (block) => {
      const blockQuery = [['blockid', blockId(block)] as const, ['comp', 'block'] as const];
      return signer.request({ method: 'PUT', path, query: blockQuery, body });
    });
    const uploading = { workload: upload, connections: uploadsAtOnce, bytes };
    const uploaded = await watched(server, 'upload', uploading);
    const ids = Array.from({ length: blocks }, (_, at) => `<Latest>${blockId(at)}</Latest>`);
    const list = `<?xml version="1.0" encoding="utf-8"?><BlockList>${ids.join('')}</BlockList>`;
    const commit = inTurn(1, 201, () =>
      signer.request({ method: 'PUT', path, query: [['comp', 'blocklist']], body: list }),
    );
    await runLoad(server.target, commit, once);
    const downloading = { workload: download(signer, bytes), connections: 1, bytes };
    const downloaded = await watched(server, 'download', downloading);
    const head = [`${gib} GiB`, 'MiB/s', 'ms of processor/MiB', 'RSS MB at most', 'anonymous MB'];
    const lines = [row(head), row(['---', ...head.slice(1).map(() => '---:')])];
    process.stdout.write(`${[...lines, uploaded, downloaded].join('\n')}\n`);
  } finally {
    await server.stop();
  }
}

stopServersAtEnd();
const usage = `npm run bench:large-blob -- [options]

Uploads and downloads one large blob, and tells rates and the most memory that the server had.

  --gib N   the size of the blob (default 10)
`;

function parseOptions(args: readonly string[]): number | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: {
      gib: { type: 'string', default: '10' },
      help: { type: 'boolean', default: false },
    },
  });
  return values.help ? undefined : positive('gib', values.gib);
}

await runBench({ usage, parse: parseOptions, run });
