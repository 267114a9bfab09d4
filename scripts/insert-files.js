// Lists the files of src of which one InsertEntity calls a named function between the request and
// its answer, as V8's precise coverage counts: node scripts/insert-files.js [--journal on|off]
// [--list]
import { mkdtemp, rm } from 'node:fs/promises';
import { Session } from 'node:inspector/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { TableClient } from '@azure/data-tables';
import { createServer } from '../dist/src/app/index.js';

const { values } = parseArgs({
  options: { journal: { type: 'string', default: 'on' }, list: { type: 'boolean' } },
});
const source = new URL('../dist/src/', import.meta.url).href;

/** The files whose functions were called since the last time. */
async function filesCalled(session) {
  const { result } = await session.post('Profiler.takePreciseCoverage');
  return result
    .filter(({ url }) => url.startsWith(source))
    .filter(({ functions }) =>
      functions.some(({ functionName, ranges }) => functionName !== '' && ranges[0].count > 0),
    )
    .map(({ url }) => fileURLToPath(url).slice(fileURLToPath(source).length))
    .toSorted();
}

const location = await mkdtemp(join(tmpdir(), 'insert-files-'));
const server = await createServer({
  location,
  journal: values.journal,
  tablePort: 0,
  queuePort: 0,
  blobPort: 0,
});
try {
  const options = { allowInsecureConnection: true };
  const table = TableClient.fromConnectionString(server.connectionString(), 'People', options);
  await table.createTable();
  const insert = (rowKey) => table.createEntity({ partitionKey: 'p', rowKey, Name: 'Ann' });
  for (let row = 0; row < 20; row += 1) await insert(`before ${row}`);
  // What follows an answer, such as a pass of the journal, is over.
  await pause(6_000);
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  await filesCalled(session);
  await insert('counted');
  const files = await filesCalled(session);
  session.disconnect();
  const parts = new Map();
  for (const file of files) {
    const [part] = file.split('/');
    parts.set(part, (parts.get(part) ?? 0) + 1);
  }
  if (values.list) console.log(files.join('\n'));
  for (const [part, count] of parts) console.log(`${part}: ${count}`);
  console.log(`${files.length} files`);
} finally {
  await server.close();
  await rm(location, { recursive: true });
}
