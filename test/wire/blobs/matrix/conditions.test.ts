import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { manualClock } from '../../../../src/base/clock.js';
import { sampled, byLength } from '../../../support/run-length.js';
import { SimRandom } from '../../../support/sim-random.js';
import { seedSetting } from '../../../support/sim-settings.js';
import { startServer } from '../../../support/start-server.js';
import { BlobWireClient } from '../../kit/blob-client.js';
import type { WireResponse } from '../../kit/response.js';
import {
  allConditions,
  headersOf,
  outcomeOf,
  type Conditions,
  type Presence,
  type Stamp,
} from './conditions.js';
import { creations, leaseOperation, operations, type TableOperation } from './operations.js';

// Every operation under every combination of conditions, in every state of the blob.

const seed = seedSetting('TABULARIUM_MATRIX_SEED');
/** Of each operation on a blob that is there; beside those, each condition alone. */
const combinations = byLength({ short: 6, long: allConditions.length });
const elsewhere = byLength({ short: 5, long: allConditions.length });
const random = new SimRandom(seed);
const clock = manualClock(Date.UTC(2026, 0, 2, 3) * 1_000);
const started = await startServer({ clock, checkClockSkew: false });
const wire = new BlobWireClient(started.server.blobPort, {
  now: () => new Date(clock.nowMicros() / 1_000),
});
const container = await wire.newContainer();
const source = `/${container}/source`;
const sourceUrl = `http://${wire.authority}/${wire.account}${source}`;
after(async () => {
  wire.close();
  await started[Symbol.asyncDispose]();
  assert.deepEqual(started.errors, [], 'the server logged errors');
});

const tags = { 'x-ms-tags': 'k=v' };
const nowhere: Stamp = { etag: '"0x8D000000000000B"', modifiedMs: Date.UTC(2025, 0) };
let blobs = 0;

function answered(response: WireResponse): string {
  if (response.status < 300) return 'met';
  return `${response.status} ${response.header('x-ms-error-code')}`;
}

/** A blob of the operation's type in this state. */
async function prepared({ kind }: TableOperation, presence: Presence): Promise<string> {
  blobs += 1;
  const path = `/${container}/${blobs}`;
  if (presence === 'there') {
    const { headers, ...creation } = creations[kind](path);
    await wire.expect(201, { ...creation, headers: { ...headers, ...tags } });
  } else if (presence === 'uncommitted') {
    const block = { method: 'PUT', path: `${path}?comp=block&blockid=AAAA`, body: 'block' };
    await wire.expect(201, block);
  }
  return path;
}

async function stampOf(path: string): Promise<Stamp | undefined> {
  const shown = await wire.send({ method: 'HEAD', path });
  if (shown.status === 404) return undefined;
  const modified = shown.header('last-modified') ?? '';
  return { etag: shown.header('etag') ?? '', modifiedMs: Date.parse(modified) };
}

/** Sends the operation under conditions, and checks the answer and what became of the blob. */
async function probe(
  operation: TableOperation,
  given: Conditions,
  presence: Presence,
  path: string,
): Promise<'same' | 'spent'> {
  const before = presence === 'there' ? await stampOf(path) : undefined;
  // The next write is in another second.
  clock.advanceMicros(1_000_000);
  const { headers, ...request } = operation.request(path, sourceUrl);
  const conditions = headersOf(given, before ?? nowhere);
  const response = await wire.send({ ...request, headers: { ...headers, ...conditions } });
  const wanted = outcomeOf(operation, given, presence);
  const what = `${operation.name} of a blob that is ${presence}: ${JSON.stringify(given)}`;
  assert.equal(answered(response), wanted, `${what}\n${response.text}`);
  if (wanted === 'met') assert.equal(response.status, operation.success, what);
  if (wanted.startsWith('304')) assert.equal(response.header('etag'), before?.etag, what);
  const now = await stampOf(path);
  const isDeleted = wanted === 'met' && operation.deletes === true;
  const isMoved = wanted === 'met' && operation.movesEtag === true;
  if (isDeleted) assert.equal(now, undefined, what);
  else if (isMoved) assert.notEqual(now?.etag, before?.etag, what);
  else assert.deepEqual(now, before, what);
  return wanted === 'met' && operation.use !== 'read' ? 'spent' : 'same';
}

function drawn(count: number): readonly Conditions[] {
  if (count >= allConditions.length) return allConditions;
  return Array.from({ length: count }, () => random.pick(allConditions));
}

const alone = allConditions.filter((each) => Object.values(each).filter(Boolean).length < 2);

const presences: readonly Presence[] = ['there', 'absent', 'uncommitted'];

describe(`conditions (seed ${seed})`, () => {
  it('lets a source exist', async () => {
    await wire.expect(201, {
      ...creations.block(source),
      headers: { 'x-ms-blob-type': 'BlockBlob', ...tags },
    });
  });

  for (const operation of [...operations, leaseOperation]) {
    it(`decide over ${operation.name} as the table says`, async () => {
      for (const presence of presences) {
        if (presence === 'uncommitted' && operation.kind !== 'block') continue;
        let path = await prepared(operation, presence);
        const all = presence === 'there' ? [...alone, ...drawn(combinations)] : drawn(elsewhere);
        for (const given of all) {
          const state = await probe(operation, given, presence, path);
          if (state === 'spent') path = await prepared(operation, presence);
        }
      }
    });
  }

  // The conditions of writes are the same in all versions, and none of these has conditions on
  // tags.
  const reads = operations.filter(({ use, conditions }) => use === 'read' && conditions === 'all');
  for (const version of sampled(['2012-02-12', '2013-08-15', '2015-12-11'], 1)) {
    it(`decide over reads as the table says in ${version}`, async () => {
      for (const operation of reads) {
        for (const presence of ['there', 'absent'] as const) {
          const path = await prepared(operation, presence);
          const stamp = presence === 'there' ? await stampOf(path) : nowhere;
          assert.ok(stamp !== undefined);
          for (const drawnOne of [...alone, ...drawn(combinations)]) {
            const given = { ...drawnOne, tags: undefined };
            const { headers, ...request } = operation.request(path, sourceUrl);
            const conditions = headersOf(given, stamp);
            const sent = { ...request, version, headers: { ...headers, ...conditions } };
            const response = await wire.send(sent);
            const wanted = outcomeOf(operation, given, presence, version);
            const what = `${operation.name} of a blob that is ${presence}: ${JSON.stringify(given)}`;
            assert.equal(answered(response), wanted, `${what}\n${response.text}`);
          }
        }
      }
    });
  }

  const copies = operations.filter(({ name }) => name.includes('Copy') || name.includes('URL'));
  for (const operation of copies) {
    it(`on the source decide over ${operation.name}`, async () => {
      const path = await prepared(operation, 'there');
      const stamp = await stampOf(source);
      assert.ok(stamp !== undefined);
      for (const given of [...alone, ...drawn(elsewhere)]) {
        const { match, noneMatch, modifiedSince, unmodifiedSince } = given;
        // Which of two decides is not in the protocol.
        if (match !== undefined && unmodifiedSince !== undefined) continue;
        if (noneMatch !== undefined && modifiedSince !== undefined) continue;
        const { headers, ...request } = operation.request(path, sourceUrl);
        const conditions = headersOf(given, stamp, 'x-ms-source-');
        const response = await wire.send({ ...request, headers: { ...headers, ...conditions } });
        const isFalse =
          match === 'other' ||
          (noneMatch !== undefined && noneMatch !== 'other') ||
          modifiedSince === 'own' ||
          unmodifiedSince === 'before' ||
          given.tags === 'other';
        const wanted = isFalse ? '412 SourceConditionNotMet' : 'met';
        assert.equal(answered(response), wanted, `${JSON.stringify(given)}\n${response.text}`);
      }
    });
  }
});

const ofContainers: readonly {
  readonly name: string;
  readonly method: string;
  readonly query: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly taken: readonly ('modifiedSince' | 'unmodifiedSince')[];
}[] = [
  { name: 'Get Container Properties', method: 'GET', query: '', taken: [] },
  { name: 'Get Container ACL', method: 'GET', query: '&comp=acl', taken: [] },
  {
    name: 'Set Container Metadata',
    method: 'PUT',
    query: '&comp=metadata',
    taken: ['modifiedSince'],
  },
  {
    name: 'Set Container ACL',
    method: 'PUT',
    query: '&comp=acl',
    taken: ['modifiedSince', 'unmodifiedSince'],
  },
  {
    name: 'Lease Container',
    method: 'PUT',
    query: '&comp=lease',
    headers: { 'x-ms-lease-action': 'break', 'x-ms-lease-break-period': '0' },
    taken: ['modifiedSince', 'unmodifiedSince'],
  },
  {
    name: 'Delete Container',
    method: 'DELETE',
    query: '',
    taken: ['modifiedSince', 'unmodifiedSince'],
  },
];

describe(`conditions of a container (seed ${seed})`, () => {
  for (const { name, method, query, headers, taken } of ofContainers) {
    it(`decide over ${name} as the table says`, async () => {
      for (const given of [...alone, ...drawn(elsewhere)]) {
        const path = `/${await wire.newContainer()}?restype=container`;
        const stamp = await stampOf(path);
        assert.ok(stamp !== undefined);
        const [since, until] = (['modifiedSince', 'unmodifiedSince'] as const).map((each) =>
          taken.includes(each) ? given[each] : undefined,
        );
        clock.advanceMicros(1_000_000);
        const response = await wire.send({
          method,
          path: `${path}${query}`,
          headers: { ...headers, ...headersOf(given, stamp) },
        });
        const isMalformed = since !== undefined && until !== undefined;
        const isFalse = since === 'own' || until === 'before';
        // A lease that is not there cannot be broken.
        const met = name === 'Lease Container' ? '409 LeaseNotPresentWithLeaseOperation' : 'met';
        const wanted = isMalformed
          ? '400 MultipleConditionHeadersNotSupported'
          : isFalse
            ? '412 ConditionNotMet'
            : met;
        assert.equal(answered(response), wanted, JSON.stringify(given));
      }
    });
  }
});
