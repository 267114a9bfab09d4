// The product in a process of its own: `tabularium-server.js DIRECTORY durable|relaxed|journal`.
import { createServer } from '../src/app/index.js';
import { endWithParent, reportPorts } from './child.js';

const [, , location = '', durability] = process.argv;

const server = await createServer({
  location,
  durability: durability === 'relaxed' ? 'relaxed' : 'durable',
  journal: durability === 'journal' ? 'on' : 'off',
});
reportPorts({ table: server.tablePort, queue: server.queuePort });
endWithParent(() => server.close());
