import type { Bytes } from '../../base/bytes.js';
import { invariant } from '../../base/invariant.js';
import { decodeTuple, encodeTuple, type TupleElement } from '../../kv/tuple.js';
import type { PublicAccess } from '../../model/blobs/properties.js';
import type { Metadata } from '../../model/resources/metadata.js';
import type { ContainerKind } from '../containers/containers.js';
import { recordId } from '../containers/record-id.js';
import { policiesOf, policyElements, type PolicedRecord } from '../containers/stored-policies.js';
import type { CommitTime } from './blob-record.js';
import { ElementReader } from './element-reader.js';
import { leaseElements, readLease, type StoredLease } from './lease.js';

/** The stored record of a blob container. */
export interface ContainerRecord extends PolicedRecord {
  readonly metadata: Metadata;
  readonly publicAccess: PublicAccess;
  /** The time that ETag and Last-Modified show, in microseconds since 1970. */
  readonly modifiedMicros: number;
  readonly lease: StoredLease | undefined;
  /**
   * A blob of the container has had a policy or a legal hold. From then on the container has
   * immutable storage, whatever the options say, and is deleted only when it is empty.
   */
  readonly isImmutable: boolean;
}

/** A record to write. */
export type ContainerDraft = Omit<ContainerRecord, 'modifiedMicros'> & {
  readonly modifiedMicros: CommitTime;
};

// Permanent: these bytes are in every data directory. See docs/internals/blob-keys.md.
const recordFormat = 1;
/** The format of the record of a container with immutable storage, otherwise the same. */
const immutableFormat = 2;
const publicAccesses: readonly PublicAccess[] = ['none', 'blob', 'container'];
/** Stands for the time of the commit, and for no lease. */
const absent = 0;
const present = 1;

export const containerKind: ContainerKind<ContainerRecord, ContainerDraft> = {
  service: 'blob',
  encode: encodeContainerRecord,
  decode: decodeContainerRecord,
  idOf: (value) => recordId(value, recordFormat, immutableFormat),
};

function encodeContainerRecord(record: ContainerDraft): Bytes {
  const { id, name, metadata, publicAccess, modifiedMicros, lease, identifiers } = record;
  const elements: TupleElement[] = [
    record.isImmutable ? immutableFormat : recordFormat,
    id,
    name,
    modifiedMicros === 'commit' ? absent : modifiedMicros,
    publicAccesses.indexOf(publicAccess),
    ...(lease === undefined ? [absent] : [present, ...leaseElements(lease)]),
    metadata.length,
    ...metadata.flat(),
  ];
  return encodeTuple([...elements, ...policyElements(identifiers)]);
}

function decodeContainerRecord(value: Bytes, version: number): ContainerRecord {
  const reader = new ElementReader(decodeTuple(value));
  const format = reader.number();
  const isImmutable = format === immutableFormat;
  invariant(
    isImmutable || format === recordFormat,
    `unknown format ${format} of a container record`,
  );
  const id = reader.number();
  const name = reader.text();
  const modifiedMicros = reader.number();
  const publicAccess = publicAccesses[reader.number()];
  invariant(publicAccess !== undefined, 'unknown access of a container');
  return {
    id,
    name,
    modifiedMicros: modifiedMicros === absent ? version : modifiedMicros,
    publicAccess,
    lease: reader.number() === present ? readLease(reader) : undefined,
    isImmutable,
    metadata: reader.pairs(),
    identifiers: policiesOf(reader.elements.slice(reader.at)),
  };
}
