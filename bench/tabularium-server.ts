// The product in a process of its own: `tabularium-server.js DIRECTORY durable|relaxed`.
import { createServer } from '../src/app/index.js';
import { endWithParent, reportPort } from './child.js';

const [, , location = '', durability] = process.argv;

const server = await createServer({
  location,
  durability: durability === 'relaxed' ? 'relaxed' : 'durable',
});
reportPort(server.tablePort);
endWithParent(() => server.close());
