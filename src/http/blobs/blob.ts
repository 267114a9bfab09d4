import { invalidQueryParameter } from '../../model/errors/query-errors.js';
import { StorageError } from '../../model/errors/storage-error.js';
import type { Access, BlobAddress, SnapshotAddress } from '../../services/blobs/types.js';
import { readConditions } from '../../wire/blobs/conditions.js';
import { leaseIdOf } from '../../wire/blobs/lease-headers.js';
import { parseSnapshotTime } from '../../wire/blobs/snapshot-time.js';
import { resourceOf } from '../operations/request.js';
import type { BlobRequest } from './request.js';

// What operations of blobs have in common (blob-service §1.1, §9).

/** Parameters that address a moment of a blob, which cannot be written. */
const momentParameters = ['snapshot', 'versionid'];

/**
 * The blob that a request writes. Throws `InvalidQueryParameterValue` when it names a snapshot or
 * a version: the blob itself must not change in its place (blob-service §16.1).
 */
export function blobOf(request: BlobRequest): BlobAddress {
  for (const name of momentParameters) {
    const value = request.query.get(name);
    if (value !== undefined) throw invalidQueryParameter(name, value, 'It cannot be written.');
  }
  return baseOf(request);
}

function baseOf(request: BlobRequest): BlobAddress {
  const { container, blob } = resourceOf(request, 'blob');
  return { account: request.account, container, blob };
}

/** Stands for a snapshot or a version that no blob has. */
const never = -1;

/**
 * The addressed blob, snapshot or version. Throws `InvalidInput` for both of the last,
 * `InvalidQueryParameterValue` for a malformed time.
 */
export function snapshotOf(request: BlobRequest): SnapshotAddress {
  const [snapshot, version] = [request.named('snapshot'), request.named('versionid')];
  if (snapshot !== undefined && version !== undefined) throw new StorageError('InvalidInput');
  if (version !== undefined) {
    const versionMicros = parseSnapshotTime('versionid', version) ?? never;
    return { ...baseOf(request), versionMicros };
  }
  if (snapshot === undefined) return baseOf(request);
  const snapshotMicros = parseSnapshotTime('snapshot', snapshot) ?? never;
  return { ...baseOf(request), snapshotMicros };
}

/** The version that a request addresses, for an operation that writes versions and no snapshots. */
export function versionOf(request: BlobRequest): SnapshotAddress {
  const snapshot = request.query.get('snapshot');
  if (snapshot !== undefined) {
    throw invalidQueryParameter('snapshot', snapshot, 'It cannot be written.');
  }
  return snapshotOf(request);
}

/** The lease id and the conditions of a request. */
export function blobAccessOf({ header, version }: BlobRequest, use: 'read' | 'write'): Access {
  return accessWith(leaseIdOf(header), readConditions(header, use, version));
}

/** The lease id and the condition on tags, for an operation without others (blob-service §9.5). */
export function taggedAccessOf({ header, version }: BlobRequest, use: 'read' | 'write'): Access {
  const onTags = (name: string) => (name === 'x-ms-if-tags' ? header(name) : undefined);
  return accessWith(leaseIdOf(header), readConditions(onTags, use, version));
}

function accessWith(leaseId: string | undefined, conditions: Access['conditions'] = {}): Access {
  return leaseId === undefined ? { conditions } : { leaseId, conditions };
}
