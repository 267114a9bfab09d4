// The product in a process of its own:
// `tabularium-server.js DIRECTORY journal|no-journal|relaxed`.
import { createServer } from '../src/app/index.js';
import { endWithParent, reportPorts } from './child.js';

const [, , location = '', mode] = process.argv;

const server = await createServer({
  location,
  durability: mode === 'relaxed' ? 'relaxed' : 'durable',
  journal: mode === 'journal' ? 'on' : 'off',
});
reportPorts({ table: server.tablePort, queue: server.queuePort, blob: server.blobPort });
endWithParent(() => server.close());
