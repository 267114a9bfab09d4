// The server that hostile requests go to, in a process of its own: `victim-server.js DIRECTORY
// ISSUER KEYS`. It trusts that issuer, whose keys are in that file, also without TLS. When it is
// told `collect`, it frees all garbage and answers 0; to anything else the milliseconds of the
// longest turn of its event loop since the message before. Node needs --expose-gc.
import { createServer } from '../../src/app/index.js';
import { invariant } from '../../src/base/invariant.js';
import { endWithParent, reportPorts } from '../child.js';
import { TurnWatch } from './turn-watch.js';

const [, , location = '', issuer = '', jwks = ''] = process.argv;

const server = await createServer({ location, oauth: { issuer, jwks, allowHttp: true } });
reportPorts({ table: server.tablePort, queue: server.queuePort, blob: server.blobPort });
endWithParent(() => server.close());

/** A second collection frees what the finalisers of the first release. */
const collections = 2;

function collect(): void {
  const { gc } = globalThis;
  invariant(gc !== undefined, 'the process is started with --expose-gc');
  for (let round = 0; round < collections; round += 1) gc();
}

const turns = new TurnWatch();
process.on('message', (message) => {
  const longestMs = turns.longestMs();
  if (message === 'collect') collect();
  turns.longestMs();
  process.send?.(message === 'collect' ? 0 : longestMs);
});
