import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { decodeTuple, encodeTuple } from '../../kv/tuple.js';
import { containerKind, type ContainerDraft } from './container-record.js';
import {
  decodeBlobRecord,
  encodeBlobRecord,
  newBlobDraft,
  type BlobDraft,
  type BlobRecord,
} from './blob-record.js';
import type { StoredLease } from './lease.js';
import type { Segment } from './segments.js';

const bytes = (length: number) =>
  fc.uint8Array({ minLength: length, maxLength: length }).map((value) => Buffer.from(value));
const micros = fc.nat({ max: 4_000_000_000_000_000 }).map((value) => value + 1);
const size = fc.nat({ max: Number.MAX_SAFE_INTEGER });
const text = fc.string({ unit: 'binary', maxLength: 20 });
const pairs = fc.array(fc.tuple(text, text), { maxLength: 3 });
const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });

const lease: fc.Arbitrary<StoredLease> = fc.oneof(
  fc.record({
    kind: fc.constant('fixed' as const),
    id: fc.uuid(),
    seconds: fc.integer({ min: 15, max: 60 }),
    endsMicros: micros,
  }),
  fc.record({ kind: fc.constant('infinite' as const), id: fc.uuid() }),
  fc.record({ kind: fc.constant('breaking' as const), id: fc.uuid(), endsMicros: micros }),
  fc.record({ kind: fc.constant('broken' as const), id: fc.uuid() }),
);

const segment: fc.Arbitrary<Segment> = fc.record({
  blockId: maybe(bytes(7)),
  bytes: size,
  piece: fc.oneof(
    fc.record({ kind: fc.constant('inline' as const), id: bytes(12) }),
    fc.record({ kind: fc.constant('extent' as const), id: fc.stringMatching(/^[\w.-]{1,40}$/) }),
  ),
});

const noKeys = { requiredKeys: [] as [] };
const record: fc.Arbitrary<BlobRecord> = fc.record({
  state: fc.constantFrom('committed', 'uncommitted'),
  kind: fc.constantFrom('block', 'append', 'page'),
  bytes: size,
  createdMicros: micros,
  modifiedMicros: micros,
  headers: fc.record(
    {
      contentType: text,
      contentEncoding: text,
      contentLanguage: text,
      cacheControl: text,
      contentDisposition: text,
      contentMd5: bytes(16),
    },
    noKeys,
  ),
  metadata: pairs,
  tags: pairs,
  content: maybe(
    fc.record({
      id: bytes(12),
      isChunked: fc.boolean(),
      tail: fc.array(segment, { maxLength: 4 }),
    }),
  ),
  blockIdBytes: maybe(fc.integer({ min: 1, max: 64 })),
  stage: maybe(fc.record({ id: bytes(12), blockIdBytes: fc.integer({ min: 1, max: 64 }) })),
  tier: maybe(
    fc.record(
      {
        tier: fc.constantFrom('Hot', 'Cool', 'Cold', 'Archive', 'P4', 'P80'),
        changedMicros: micros,
      },
      { requiredKeys: ['tier'] },
    ),
  ),
  lease: maybe(lease),
  copy: maybe(
    fc.record(
      {
        id: fc.uuid(),
        status: fc.constantFrom('pending', 'success', 'aborted', 'failed'),
        source: text,
        bytesDone: size,
        bytesTotal: size,
        completedMicros: micros,
        description: text,
        incremental: fc.record({ snapshotMicros: micros }, noKeys),
      },
      { requiredKeys: ['id', 'status', 'source', 'bytesDone', 'bytesTotal'] },
    ),
  ),
  page: maybe(
    fc.record({
      sequenceNumber: fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }),
      generation: fc.integer({ min: 1 }),
      sharedGeneration: fc.nat(),
    }),
  ),
  append: maybe(fc.record({ count: fc.nat({ max: 50_000 }), isSealed: fc.boolean() })),
  versionMicros: maybe(micros),
  immutability: maybe(
    fc.oneof(
      fc.constant({ hasLegalHold: true }),
      fc.record({
        policy: fc.record({ untilSeconds: micros, mode: fc.constantFrom('unlocked', 'locked') }),
        hasLegalHold: fc.boolean(),
      }),
    ),
  ),
  deleted: maybe(fc.record({ micros, purgedMicros: micros })),
});

describe('the record of a blob', () => {
  it('comes back as it was written', () => {
    fc.assert(
      fc.property(record, (written) => {
        assert.deepEqual(plain(decodeBlobRecord(encodeBlobRecord(written), 7)), plain(written));
      }),
    );
  });

  it('has another format with immutability, which earlier servers refuse to read', () => {
    const formatOf = (draft: BlobDraft) => decodeTuple(encodeBlobRecord(draft), 0, 1)[0];
    const draft = newBlobDraft('block');
    assert.equal(formatOf(draft), 1);
    assert.equal(formatOf({ ...draft, immutability: { hasLegalHold: true } }), 2);
  });

  it('has the time of its commit where it was left open', () => {
    const draft = newBlobDraft('block');
    const stored = decodeBlobRecord(encodeBlobRecord(draft), 1234);
    assert.deepEqual([stored.createdMicros, stored.modifiedMicros], [1234, 1234]);
    const later = decodeBlobRecord(encodeBlobRecord({ ...stored, modifiedMicros: 'commit' }), 5678);
    assert.deepEqual([later.createdMicros, later.modifiedMicros], [1234, 5678]);
  });

  it('keeps two numbers behind a tier, whatever they are', () => {
    const begin = '11 01  10  13 04 20 00  11 05  02 41 72 63 68 69 76 65 00  12 03 e8';
    const version = '12 07 d0';
    const stored = (numbers: string) =>
      Buffer.from(`${begin} ${numbers} ${version}`.replaceAll(' ', ''), 'hex');
    const wanted = { tier: 'Archive', changedMicros: 1000 } as const;
    for (const numbers of ['10 10', '11 01 11 02']) {
      const { bytes: size, tier, versionMicros } = decodeBlobRecord(stored(numbers), 7);
      assert.deepEqual([size, tier, versionMicros], [5, wanted, 2000]);
    }
    const draft = { ...newBlobDraft('block'), headers: {}, bytes: 5, tier: wanted };
    const written = encodeBlobRecord({ ...draft, versionMicros: 2000 });
    assert.equal(Buffer.from(written).toString('hex'), stored('10 10').toString('hex'));
  });

  it('of another format is refused', () => {
    assert.throws(() => decodeBlobRecord(encodeTuple([3, 0, 0, 0]), 1), /format 3/);
  });

  it('that was cut off is refused', () => {
    const draft: BlobDraft = { ...newBlobDraft('block'), metadata: [['a', 'b']] };
    const value = encodeBlobRecord(draft);
    assert.throws(() => decodeBlobRecord(value.subarray(0, -3), 1), /ends too early/);
  });
});

/** Without prototypes, members that are undefined, and differences between views of memory. */
function plain(value: object): unknown {
  return JSON.parse(
    JSON.stringify(value, (_, part: unknown) => {
      if (typeof part === 'bigint') return `${part}n`;
      if (part instanceof Uint8Array) return { bytes: Buffer.from(part).toString('hex') };
      return part;
    }),
  );
}

describe('the record of a container', () => {
  it('comes back as it was written', () => {
    const container: fc.Arbitrary<ContainerDraft> = fc.record({
      id: fc.nat(),
      name: text,
      metadata: pairs,
      publicAccess: fc.constantFrom('none', 'blob', 'container'),
      modifiedMicros: fc.oneof(fc.constant('commit' as const), micros),
      lease: maybe(lease),
      isImmutable: fc.boolean(),
      identifiers: fc.array(
        fc.record({ id: text, start: text, permission: text }, { requiredKeys: ['id'] }),
        { maxLength: 3 },
      ),
    });
    fc.assert(
      fc.property(container, (written) => {
        const value = containerKind.encode(written);
        assert.equal(containerKind.idOf(value), written.id);
        const { modifiedMicros } = written;
        const wanted = modifiedMicros === 'commit' ? 7 : modifiedMicros;
        const stored = containerKind.decode(value, 7);
        assert.deepEqual(plain(stored), plain({ ...written, modifiedMicros: wanted }));
      }),
    );
  });
});
