import assert from 'node:assert/strict';
import { it } from 'node:test';
import { RawConnection, send, signedRequest } from '../../support/raw-http.js';
import { startServer } from '../../support/start-server.js';
import { costly } from '../../support/run-length.js';

const account = '/devstoreaccount1';
const writers = 16;

interface Outcome {
  readonly answers: number;
  /** True when a request on an open connection got no response. */
  readonly isLost: boolean;
}

/** Inserts rows over one connection until the server announces that it closes. */
async function write(port: number, writer: number): Promise<Outcome> {
  using connection = new RawConnection(port);
  let ended = false;
  connection.socket.on('end', () => (ended = true));
  for (let answers = 0; ; answers++) {
    if (ended) return { answers, isLost: false };
    const body = JSON.stringify({ PartitionKey: String(writer), RowKey: String(answers) });
    connection.write(signedRequest({ method: 'POST', target: `${account}/rows`, body }));
    const answer = await connection.read();
    if (answer === undefined) return { answers, isLost: true };
    assert.equal(answer.status, 201);
    if (answer.header('connection') === 'close') return { answers, isLost: false };
  }
}

it(
  'writers at work when a server closes get an answer to each of their requests',
  costly(),
  async () => {
    for (let round = 0; round < 5; round++) {
      await using started = await startServer();
      const { tablePort: port } = started.server;
      const table = { method: 'POST', target: `${account}/Tables`, body: '{"TableName":"rows"}' };
      assert.equal((await send(port, table)).status, 201);
      const outcomes = Array.from({ length: writers }, (_, writer) => write(port, writer));
      await started.recorded(1 + writers * (5 + round));
      await started.server.close();
      const all = await Promise.all(outcomes);
      assert.deepEqual(
        all.filter(({ isLost }) => isLost),
        [],
      );
    }
  },
);
