import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { manualClock } from '../../../../src/base/clock.js';
import { byLength } from '../../../support/run-length.js';
import { SimRandom } from '../../../support/sim-random.js';
import { seedSetting } from '../../../support/sim-settings.js';
import { startServer } from '../../../support/start-server.js';
import { BlobWireClient } from '../../kit/blob-client.js';
import type { WireResponse } from '../../kit/response.js';
import {
  ids,
  leaseRequests,
  leaseStates,
  useOutcome,
  type Holder,
  type LeaseRequest,
  type LeaseState,
} from './leases.js';
import { creations, operations, type TableOperation } from './operations.js';

// Every lease operation, and every other operation with every lease id, in every state of a lease.

const seed = seedSetting('TABULARIUM_MATRIX_SEED');
/** The share of the uses of blobs under leases that the short form draws. */
const share = byLength({ short: 0.3, long: 1 });
const random = new SimRandom(seed);
const clock = manualClock(Date.UTC(2026, 0, 2, 3) * 1_000);
const started = await startServer({ clock, checkClockSkew: false });
const wire = new BlobWireClient(started.server.blobPort, {
  now: () => new Date(clock.nowMicros() / 1_000),
});
const files = await wire.newContainer();
const source = `/${files}/source`;
const sourceUrl = `http://${wire.authority}/${wire.account}${source}`;
await wire.expect(201, creations.block(source));
after(async () => {
  wire.close();
  await started[Symbol.asyncDispose]();
  assert.deepEqual(started.errors, [], 'the server logged errors');
});

let blobs = 0;

/** What has leases, as a path and the parameter that makes it a request about the lease. */
interface Place {
  readonly path: string;
  readonly separator: '?' | '&';
}

async function placeOf(holder: Holder, kind: TableOperation['kind'] = 'block'): Promise<Place> {
  if (holder === 'container') {
    return { path: `/${await wire.newContainer()}?restype=container`, separator: '&' };
  }
  blobs += 1;
  const path = `/${files}/${blobs}`;
  await wire.expect(201, creations[kind](path));
  return { path, separator: '?' };
}

function lease(
  { path, separator }: Place,
  headers: Readonly<Record<string, string>>,
): Promise<WireResponse> {
  return wire.send({ method: 'PUT', path: `${path}${separator}comp=lease`, headers });
}

/** Brings the lease of a place without one into a state. */
async function bring(place: Place, state: LeaseState): Promise<void> {
  if (state === 'available') return;
  const seconds = state === 'leased for ever' || state === 'broken' ? '-1' : '30';
  const acquire = { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': seconds };
  const acquired = await lease(place, { ...acquire, 'x-ms-proposed-lease-id': ids.a });
  assert.equal(acquired.status, 201, acquired.text);
  if (state === 'expired') clock.advanceMicros(31_000_000);
  if (state !== 'breaking' && state !== 'broken') return;
  const period: Record<string, string> =
    state === 'broken' ? {} : { 'x-ms-lease-break-period': '20' };
  const broken = await lease(place, { 'x-ms-lease-action': 'break', ...period });
  assert.equal(broken.status, 202, broken.text);
}

async function shown({ path }: Place) {
  const response = await wire.expect(200, { method: 'HEAD', path });
  const [status, state, duration] = ['status', 'state', 'duration'].map((name) =>
    response.header(`x-ms-lease-${name}`),
  );
  return { status, state, duration, etag: response.header('etag') };
}

function shownAs(state: LeaseState) {
  const name = state.startsWith('leased') ? 'leased' : state;
  return {
    status: name === 'leased' || name === 'breaking' ? 'locked' : 'unlocked',
    state: name,
    duration: name !== 'leased' ? undefined : state === 'leased' ? 'fixed' : 'infinite',
  };
}

function answered(response: WireResponse): string {
  if (response.status < 300) return String(response.status);
  return `${response.status} ${response.header('x-ms-error-code')}`;
}

/** Sends a lease operation, and checks what becomes of the lease and that the ETag stays. */
async function probe(holder: Holder, state: LeaseState, request: LeaseRequest): Promise<void> {
  const place = await placeOf(holder);
  await bring(place, state);
  const before = await shown(place);
  const response = await lease(place, request.headers);
  const { answers, after: next, leaseId, seconds } = request.outcome(state);
  assert.ok(answers.includes(answered(response)), `${answers.join()}: ${answered(response)}`);
  const now = await shown(place);
  assert.deepEqual(now, { ...shownAs(next), etag: before.etag });
  if (response.status >= 300) return;
  assert.equal(response.header('etag'), before.etag);
  assert.equal(response.header('x-ms-lease-time'), seconds);
  const given = response.header('x-ms-lease-id');
  if (leaseId === 'fresh') assert.match(given ?? '', /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  else assert.equal(given, leaseId);
}

describe('lease operations', () => {
  for (const holder of ['blob', 'container'] as const) {
    for (const state of leaseStates) {
      for (const request of leaseRequests) {
        it(`of a ${holder} whose lease is ${state} do what the table says: ${request.name}`, () =>
          probe(holder, state, request));
      }
    }
  }
});

/**
 * Sends an operation with a lease id or without, and checks the answer and the lease afterwards.
 */
async function use(
  operation: TableOperation,
  state: LeaseState,
  sent: 'a' | 'b' | 'none',
): Promise<void> {
  const place = await placeOf('blob', operation.kind);
  await bring(place, state);
  const { headers, ...request } = operation.request(place.path, sourceUrl);
  const id: Record<string, string> = sent === 'none' ? {} : { 'x-ms-lease-id': ids[sent] };
  const response = await wire.send({ ...request, headers: { ...headers, ...id } });
  const wanted = useOutcome(operation, state, sent);
  const what = `${operation.name}, lease ${state}, id ${sent}`;
  if (wanted !== 'met') {
    assert.equal(answered(response), wanted, what);
    const { etag: _, ...now } = await shown(place);
    assert.deepEqual(now, shownAs(state), what);
    return;
  }
  assert.equal(response.status, operation.success, `${what}\n${response.text}`);
  if (operation.deletes === true) return;
  const isForgotten =
    operation.use !== 'read' &&
    operation.leaseIsOptional !== true &&
    (state === 'broken' || state === 'expired');
  const next = isForgotten ? 'available' : state;
  const { etag: _, ...now } = await shown(place);
  assert.deepEqual(now, shownAs(next), what);
}

describe(`a blob under a lease (seed ${seed})`, () => {
  for (const operation of operations) {
    it(`answers ${operation.name} by the lease and the id`, async () => {
      for (const state of leaseStates) {
        for (const sent of ['a', 'b', 'none'] as const) {
          if (random.chance(share)) await use(operation, state, sent);
        }
      }
    });
  }

  it('that does not exist has no lease to name', async () => {
    for (const operation of operations.filter((each) => each.use === 'create')) {
      const { headers, ...request } = operation.request(`/${files}/nowhere`, sourceUrl);
      const response = await wire.send({
        ...request,
        headers: { ...headers, 'x-ms-lease-id': ids.a },
      });
      assert.equal(answered(response), '412 LeaseNotPresentWithBlobOperation', operation.name);
    }
  });
});

describe('a container under a lease', () => {
  const requests: readonly (readonly [name: string, method: string, query: string])[] = [
    ['Get Container Properties', 'GET', ''],
    ['Get Container Metadata', 'GET', '&comp=metadata'],
    ['Set Container Metadata', 'PUT', '&comp=metadata'],
    ['Get Container ACL', 'GET', '&comp=acl'],
    ['Set Container ACL', 'PUT', '&comp=acl'],
    ['Delete Container', 'DELETE', ''],
  ];
  for (const [name, method, query] of requests) {
    it(`answers ${name} by the lease and the id`, async () => {
      for (const state of leaseStates) {
        for (const sent of ['a', 'b', 'none'] as const) {
          const { path } = await placeOf('container');
          await bring({ path, separator: '&' }, state);
          const headers: Record<string, string> =
            sent === 'none' ? {} : { 'x-ms-lease-id': ids[sent] };
          const response = await wire.send({ method, path: `${path}${query}`, headers });
          const wanted = useOutcome(
            { use: method === 'DELETE' ? 'change' : 'read' },
            state,
            sent,
            'Container',
          );
          const isMet = response.status < 300;
          assert.equal(isMet ? 'met' : answered(response), wanted, `${state}, id ${sent}`);
        }
      }
    });
  }
});
