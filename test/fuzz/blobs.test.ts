import assert from 'node:assert/strict';
import { it } from 'node:test';
import { byLength } from '../support/run-length.js';
import { SimRandom } from '../support/sim-random.js';
import { numberSetting, seedSetting } from '../support/sim-settings.js';
import { startServer } from '../support/start-server.js';
import { BlobWireClient } from '../wire/kit/blob-client.js';
import { WireConnection } from '../wire/kit/connection.js';
import { faultOf } from './answers.js';
import { fuzzContainers, sendableRequest, mutatedBlobRequest } from './blob-requests.js';
import { rawFault, mutatedBytes } from './raw-bytes.js';

// How to repeat and to run longer: docs/internals/correctness.md.

const seed = seedSetting('TABULARIUM_FUZZ_SEED');
const requests = numberSetting(
  'TABULARIUM_FUZZ_BLOB_REQUESTS',
  byLength({ short: 250, long: 60_000 }),
);
const rawShare = 0.02;

it(`answers ${requests} mutated requests for blobs properly (seed ${seed})`, async (t) => {
  const random = new SimRandom(seed);
  const blobImmutability = random.chance(0.5);
  await using started = await startServer({ blobImmutability });
  const { server } = started;
  const wire = BlobWireClient.of(server);
  t.after(() => wire.close());
  const connection = new WireConnection(server.blobPort);
  t.after(() => connection.close());
  const source = `http://${wire.authority}/${wire.account}`;
  const statuses = new Map<number, number>();
  const answered = async (index: number): Promise<void> => {
    const request = mutatedBlobRequest(random, source);
    const bytes = wire.bytes(sendableRequest(request));
    const shown = `request ${index}\n${bytes.toString('latin1').slice(0, 2_000)}`;
    if (random.chance(rawShare)) {
      const { fault } = await rawFault(server.blobPort, mutatedBytes(random, [bytes, bytes]));
      assert.equal(fault, undefined, shown);
      return;
    }
    const response = await connection.exchange(bytes, request.method === 'HEAD');
    const { status } = response;
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
    // What is read is any bytes; errors have one form.
    const service = status < 400 ? 'table' : 'queue';
    const type = response.header('content-type') ?? '';
    const isDocument = status >= 400 || !/json|multipart/.test(type);
    const fault = isDocument ? faultOf({ service, method: request.method }, response) : undefined;
    assert.equal(fault, undefined, `${shown}\n${response.head}\n${response.text.slice(0, 500)}`);
  };
  for (let index = 1; index <= requests; index += 1) {
    if (index % 500 === 1) {
      for (const name of fuzzContainers) {
        await wire.send({ method: 'PUT', path: `/${name}?restype=container` });
      }
    }
    await answered(index);
  }
  const kept = blobImmutability ? 'with' : 'without';
  t.diagnostic(`${kept} immutable blobs: ${JSON.stringify(Object.fromEntries(statuses))}`);
  const passed = [...statuses].reduce((sum, [status, n]) => sum + (status < 300 ? n : 0), 0);
  assert.ok(passed > requests / 10, `${passed} of ${requests} passed`);
  assert.deepEqual(started.errors, [], 'the server logged errors');
});
