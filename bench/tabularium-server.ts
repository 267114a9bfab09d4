// The product in a process of its own:
// `tabularium-server.js DIRECTORY journal|no-journal|relaxed|postgres`. The last one has a database
// of its own, whose processes are its children. It begins as the command line does.
import { createServer, type ServerOptions } from '../src/app/index.js';
import { allocateInYoungGeneration } from '../src/base/pretenuring.js';
import { startPostgres } from '../test/support/postgres-server.js';
import { endWithParent, reportPorts } from './child.js';

allocateInYoungGeneration();

const [, , location = '', mode] = process.argv;

const database = mode === 'postgres' ? await startPostgres(['shared_buffers=256MB']) : undefined;
const engine: ServerOptions =
  database === undefined
    ? { journal: mode === 'journal' ? 'on' : 'off' }
    : { engine: 'postgres', postgresUrl: database.url };
const server = await createServer({
  location,
  durability: mode === 'relaxed' ? 'relaxed' : 'durable',
  ...engine,
});
reportPorts({ table: server.tablePort, queue: server.queuePort, blob: server.blobPort });
endWithParent(async () => {
  await server.close();
  await database?.dispose();
});
