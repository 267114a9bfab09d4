import type { Bytes } from '../../base/bytes.js';
import { invariant } from '../../base/invariant.js';
import { decodeTuple, encodeTuple, type TupleElement } from '../../kv/tuple.js';
import {
  contentTypeDefault,
  type AccessTier,
  type BlobKind,
  type BlobTier,
  type ContentHeaders,
  type CopyState,
} from '../../model/blobs/properties.js';
import {
  immutabilityOf,
  type Immutability,
  type PolicyMode,
} from '../../model/blobs/immutability.js';
import type { Tags } from '../../model/blobs/tags.js';
import type { Metadata } from '../../model/resources/metadata.js';
import { ElementReader } from './element-reader.js';
import { leaseElements, readLease, type StoredLease } from './lease.js';
import { segmentElements, segmentsIn, type Content } from './segments.js';

/** The uncommitted blocks of a blob. Put Block List and Put Blob give the blob another stage. */
export interface BlockStage {
  readonly id: Bytes;
  /** The length of the ids of its blocks. */
  readonly blockIdBytes: number;
}

export interface PageState {
  /** 0 to 2^63 - 1. */
  readonly sequenceNumber: bigint;
  /** The generation of the page map that the record sees (`PageRange`); from 1 on. */
  readonly generation: number;
  /**
   * The last generation that a snapshot of the blob sees, 0 when there is none. Pages that were
   * written later belong to the blob alone. 0 in the record of a snapshot.
   */
  readonly sharedGeneration: number;
}

/** The stored record of a blob, a snapshot or a version. All times are microseconds since 1970. */
export interface BlobRecord {
  /** `uncommitted`: the blob has nothing but uncommitted blocks (blob-service §12.3). */
  readonly state: 'committed' | 'uncommitted';
  readonly kind: BlobKind;
  readonly bytes: number;
  readonly createdMicros: number;
  /** The time that ETag and Last-Modified show (blob-service §3.3). */
  readonly modifiedMicros: number;
  readonly headers: ContentHeaders;
  readonly metadata: Metadata;
  readonly tags: Tags;
  /** Absent: no bytes. */
  readonly content: Content | undefined;
  /** The length of the ids of committed blocks; absent when there are none. */
  readonly blockIdBytes: number | undefined;
  readonly stage: BlockStage | undefined;
  readonly tier: BlobTier | undefined;
  readonly lease: StoredLease | undefined;
  readonly copy: CopyState | undefined;
  /** Set for page blobs. */
  readonly page: PageState | undefined;
  /** Set for append blobs. */
  readonly append: { readonly count: number; readonly isSealed: boolean } | undefined;
  /** Set for versions: the id of the version. */
  readonly versionMicros: number | undefined;
  /** Its policy and its legal hold (blob-service §15.5). */
  readonly immutability: Immutability | undefined;
  /** Set for soft-deleted blobs, snapshots and versions (blob-service §16.3). */
  readonly deleted: { readonly micros: number; readonly purgedMicros: number } | undefined;
}

/** `commit`: the time of the commit that writes the record. */
export type CommitTime = number | 'commit';

/** A record to write. */
export type BlobDraft = Omit<BlobRecord, 'createdMicros' | 'modifiedMicros'> & {
  readonly createdMicros: CommitTime;
  readonly modifiedMicros: CommitTime;
};

/** A committed blob without bytes, made and modified by the commit that writes it. */
export function newBlobDraft(kind: BlobKind): BlobDraft {
  return {
    state: 'committed',
    kind,
    bytes: 0,
    createdMicros: 'commit',
    modifiedMicros: 'commit',
    headers: { contentType: contentTypeDefault },
    metadata: [],
    tags: [],
    content: undefined,
    blockIdBytes: undefined,
    stage: undefined,
    tier: undefined,
    lease: undefined,
    copy: undefined,
    page: undefined,
    append: undefined,
    versionMicros: undefined,
    immutability: undefined,
    deleted: undefined,
  };
}

// Permanent: these values are in every data directory. See docs/internals/blob-keys.md.
const recordFormat = 1;
/**
 * The format of a record with immutability. An older server does not know the format and fails,
 * rather than deleting a protected blob.
 */
const immutableFormat = 2;
const kinds: readonly BlobKind[] = ['block', 'append', 'page'];
/** The parts of a record that it may lack, in the order of their elements. */
const part = {
  uncommitted: 1,
  created: 1 << 1,
  modified: 1 << 2,
  contentType: 1 << 3,
  contentEncoding: 1 << 4,
  contentLanguage: 1 << 5,
  cacheControl: 1 << 6,
  contentDisposition: 1 << 7,
  contentMd5: 1 << 8,
  metadata: 1 << 9,
  tags: 1 << 10,
  blockIdBytes: 1 << 11,
  stage: 1 << 12,
  tier: 1 << 13,
  lease: 1 << 14,
  copy: 1 << 15,
  page: 1 << 16,
  append: 1 << 17,
  version: 1 << 18,
  deleted: 1 << 19,
  content: 1 << 20,
  chunks: 1 << 21,
  immutability: 1 << 22,
} as const;

/** The text headers in the order of their elements. */
const headerParts = [
  ['contentType', part.contentType],
  ['contentEncoding', part.contentEncoding],
  ['contentLanguage', part.contentLanguage],
  ['cacheControl', part.cacheControl],
  ['contentDisposition', part.contentDisposition],
] as const;

const policyModes: readonly PolicyMode[] = ['unlocked', 'locked'];
const copyStatuses = ['pending', 'success', 'aborted', 'failed'] as const;
/** Stands for an absent value inside of a part. An index or a time is never 0 there. */
const absent = 0;
/** Keeps the place of a number that a part once had; readers ignore the value. */
const reserved = 0;

export function encodeBlobRecord(record: BlobDraft): Bytes {
  let parts = 0;
  const format = record.immutability === undefined ? recordFormat : immutableFormat;
  const elements: TupleElement[] = [format, kinds.indexOf(record.kind), 0, record.bytes];
  const add = (flag: number, ...values: readonly TupleElement[]): void => {
    parts |= flag;
    elements.push(...values);
  };
  if (record.state === 'uncommitted') add(part.uncommitted);
  if (record.createdMicros !== 'commit') add(part.created, record.createdMicros);
  if (record.modifiedMicros !== 'commit') add(part.modified, record.modifiedMicros);
  for (const [name, flag] of headerParts) {
    const value = record.headers[name];
    if (value !== undefined) add(flag, value);
  }
  const { headers, metadata, tags, stage, tier, lease, copy, page, append } = record;
  const { immutability, deleted, content } = record;
  if (headers.contentMd5 !== undefined) add(part.contentMd5, headers.contentMd5);
  if (metadata.length > 0) add(part.metadata, metadata.length, ...metadata.flat());
  if (tags.length > 0) add(part.tags, tags.length, ...tags.flat());
  if (record.blockIdBytes !== undefined) add(part.blockIdBytes, record.blockIdBytes);
  if (stage !== undefined) add(part.stage, stage.id, stage.blockIdBytes);
  if (tier !== undefined) add(part.tier, ...tierElements(tier));
  if (lease !== undefined) add(part.lease, ...leaseElements(lease));
  if (copy !== undefined) add(part.copy, ...copyElements(copy));
  if (page !== undefined) add(part.page, ...pageElements(page));
  if (append !== undefined) add(part.append, append.count, append.isSealed ? 1 : 0);
  if (record.versionMicros !== undefined) add(part.version, record.versionMicros);
  if (immutability !== undefined) add(part.immutability, ...immutabilityElements(immutability));
  if (deleted !== undefined) add(part.deleted, deleted.micros, deleted.purgedMicros);
  if (content !== undefined) {
    add(part.content, content.id, ...content.tail.flatMap(segmentElements));
    if (content.isChunked) add(part.chunks);
  }
  elements[2] = parts;
  return encodeTuple(elements);
}

/**
 * The parts of a record that a listing needs before it decodes the rest. Bytes after the record may
 * follow.
 */
export function peekBlobRecord(value: Bytes): {
  readonly isUncommitted: boolean;
  readonly isDeleted: boolean;
  readonly isVersion: boolean;
  /** It has a policy or a legal hold. */
  readonly isKept: boolean;
} {
  const [format, , parts] = decodeTuple(value, 0, 3);
  invariant(isKnown(format) && typeof parts === 'number', 'unknown format of a blob record');
  return {
    isUncommitted: (parts & part.uncommitted) !== 0,
    isDeleted: (parts & part.deleted) !== 0,
    isVersion: (parts & part.version) !== 0,
    isKept: (parts & part.immutability) !== 0,
  };
}

function isKnown(format: TupleElement | undefined): boolean {
  return format === recordFormat || format === immutableFormat;
}

/** `version`: that of the record's entry. */
export function decodeBlobRecord(value: Bytes, version: number): BlobRecord {
  const elements = decodeTuple(value);
  invariant(isKnown(elements[0]), `unknown format ${String(elements[0])} of a blob record`);
  const reader = new ElementReader(elements, 1);
  const kind = kinds[reader.number()];
  invariant(kind !== undefined, 'unknown kind of a blob');
  const parts = reader.number();
  const has = (flag: number): boolean => (parts & flag) !== 0;
  return {
    kind,
    bytes: reader.number(),
    state: has(part.uncommitted) ? 'uncommitted' : 'committed',
    createdMicros: has(part.created) ? reader.number() : version,
    modifiedMicros: has(part.modified) ? reader.number() : version,
    headers: readHeaders(reader, parts),
    metadata: has(part.metadata) ? reader.pairs() : noPairs,
    tags: has(part.tags) ? reader.pairs() : noPairs,
    blockIdBytes: has(part.blockIdBytes) ? reader.number() : undefined,
    stage: has(part.stage) ? readBlockStage(reader) : undefined,
    tier: has(part.tier) ? readTier(reader) : undefined,
    lease: has(part.lease) ? readLease(reader) : undefined,
    copy: has(part.copy) ? readCopy(reader) : undefined,
    page: has(part.page) ? readPage(reader) : undefined,
    append: has(part.append) ? readAppend(reader) : undefined,
    versionMicros: has(part.version) ? reader.number() : undefined,
    immutability: has(part.immutability) ? readImmutability(reader) : undefined,
    deleted: has(part.deleted) ? readDeleted(reader) : undefined,
    content: has(part.content) ? readContent(reader, has(part.chunks)) : undefined,
  };
}

const noPairs: Metadata = Object.freeze([]);

function readHeaders(reader: ElementReader, parts: number): ContentHeaders {
  const headers: { -readonly [Name in keyof ContentHeaders]: ContentHeaders[Name] } = {};
  for (const [name, flag] of headerParts) if ((parts & flag) !== 0) headers[name] = reader.text();
  if ((parts & part.contentMd5) !== 0) headers.contentMd5 = reader.bytes();
  return headers;
}

function readBlockStage(reader: ElementReader): BlockStage {
  return { id: reader.bytes(), blockIdBytes: reader.number() };
}

function tierElements({ tier, changedMicros = absent }: BlobTier): TupleElement[] {
  return [tier, changedMicros, reserved, reserved];
}

function readTier(reader: ElementReader): BlobTier {
  // Only tiers are ever written.
  const tier = reader.text() as AccessTier;
  const changedMicros = reader.number();
  // The state of rehydration, which some records have and nothing reads.
  reader.number();
  reader.number();
  return { tier, ...(changedMicros !== absent && { changedMicros }) };
}

/**
 * The element for a copy that is not incremental, for an incremental one without a snapshot yet,
 * and else the time of the snapshot.
 */
const notIncremental = '';

function copyElements(copy: CopyState): TupleElement[] {
  return [
    copy.id,
    copyStatuses.indexOf(copy.status),
    copy.source,
    copy.bytesDone,
    copy.bytesTotal,
    copy.completedMicros ?? absent,
    copy.description ?? absent,
    copy.incremental === undefined ? notIncremental : (copy.incremental.snapshotMicros ?? absent),
  ];
}

function readCopy(reader: ElementReader): CopyState {
  const id = reader.text();
  const status = copyStatuses[reader.number()];
  invariant(status !== undefined, 'unknown status of a copy');
  const source = reader.text();
  const bytesDone = reader.number();
  const bytesTotal = reader.number();
  const completedMicros = reader.number();
  const description = reader.element();
  const incremental = reader.element();
  return {
    id,
    status,
    source,
    bytesDone,
    bytesTotal,
    ...(completedMicros !== absent && { completedMicros }),
    ...(typeof description === 'string' && { description }),
    ...(typeof incremental === 'number' && {
      incremental: incremental === absent ? {} : { snapshotMicros: incremental },
    }),
  };
}

function pageElements(page: PageState): TupleElement[] {
  return [String(page.sequenceNumber), page.generation, page.sharedGeneration];
}

function readPage(reader: ElementReader): PageState {
  return {
    sequenceNumber: BigInt(reader.text()),
    generation: reader.number(),
    sharedGeneration: reader.number(),
  };
}

function readAppend(reader: ElementReader): NonNullable<BlobRecord['append']> {
  return { count: reader.number(), isSealed: reader.number() === 1 };
}

function immutabilityElements({ policy, hasLegalHold }: Immutability): TupleElement[] {
  const hold = hasLegalHold ? 1 : 0;
  if (policy === undefined) return [hold, absent, absent];
  return [hold, policy.untilSeconds, policyModes.indexOf(policy.mode)];
}

function readImmutability(reader: ElementReader): Immutability | undefined {
  const hasLegalHold = reader.number() === 1;
  const untilSeconds = reader.number();
  const mode = policyModes[reader.number()];
  invariant(mode !== undefined, 'unknown mode of an immutability policy');
  return immutabilityOf(untilSeconds === absent ? undefined : { untilSeconds, mode }, hasLegalHold);
}

function readDeleted(reader: ElementReader): NonNullable<BlobRecord['deleted']> {
  return { micros: reader.number(), purgedMicros: reader.number() };
}

/** The last part: the segments take the rest. */
function readContent(reader: ElementReader, isChunked: boolean): Content {
  return { id: reader.bytes(), isChunked, tail: segmentsIn(reader.elements, reader.at) };
}
