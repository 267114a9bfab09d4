import { invalidHeader, invalidQueryParameter } from '../../model/errors/query-errors.js';
import type {
  DeleteOptions,
  DeleteSnapshots,
  SnapshotAddress,
} from '../../services/blobs/types.js';
import { objectAccess } from '../operations/access.js';
import type { Deletion } from '../../services/blobs/deletion.js';
import type { RoutedBlobRequest } from './blob-route.js';
import { blobAccessOf, snapshotOf } from './blob.js';
import type { BlobOperation, BlobRequest } from './request.js';

interface Input {
  readonly address: SnapshotAddress;
  readonly options: DeleteOptions;
}

const snapshotsHeader = 'x-ms-delete-snapshots';

const deleteTypes: ReadonlySet<string> = new Set(['', 'permanent']);

/** Whether a request purges something soft-deleted. */
export function isPermanent({ query }: RoutedBlobRequest): boolean {
  return query.get('deletetype')?.toLowerCase() === 'permanent';
}

function snapshotsOf({ header }: BlobRequest): DeleteSnapshots | undefined {
  const text = header(snapshotsHeader);
  if (text === undefined) return undefined;
  const which = text.toLowerCase();
  if (which === 'include' || which === 'only') return which;
  throw invalidHeader(snapshotsHeader, text);
}

/** `DELETE /container/blob` (blob-service §16.2). */
export const deleteBlob: BlobOperation<Input, Deletion> = {
  access: objectAccess('delete'),
  bodyBytesMax: 0,

  parse(request) {
    const address = snapshotOf(request);
    const snapshots = snapshotsOf(request);
    const type = request.query.get('deletetype') ?? '';
    if (!deleteTypes.has(type.toLowerCase())) {
      throw invalidQueryParameter('deletetype', type, 'It can be permanent.');
    }
    if (
      (address.snapshotMicros ?? address.versionMicros) !== undefined &&
      snapshots !== undefined
    ) {
      throw invalidHeader(snapshotsHeader, snapshots);
    }
    const access = blobAccessOf(request, 'write');
    const options = { ...access, permanently: isPermanent(request) };
    return { address, options: snapshots === undefined ? options : { ...options, snapshots } };
  },

  run({ address, options }, { backend }) {
    return backend.blobs.deleteBlob(address, options);
  },

  render({ isPermanent: isGone }) {
    return { status: 202, headers: ['x-ms-delete-type-permanent', String(isGone)] };
  },
};

/** Whether a request deletes a version. */
export function namesVersion({ query }: RoutedBlobRequest): boolean {
  return query.get('versionid') !== undefined;
}

/** Deletes a version, which needs a permission of its own. */
export const deleteBlobVersion: BlobOperation<Input, Deletion> = {
  ...deleteBlob,
  access: objectAccess('delete-version'),
};

/** Deletes with `deletetype=permanent`, which needs a permission of its own. */
export const deleteBlobPermanently: BlobOperation<Input, Deletion> = {
  ...deleteBlob,
  access: objectAccess('permanent-delete'),
};
