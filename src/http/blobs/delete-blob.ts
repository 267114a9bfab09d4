import { invalidHeader, invalidQueryParameter } from '../../model/errors/query-errors.js';
import type {
  DeleteOptions,
  DeleteSnapshots,
  SnapshotAddress,
} from '../../services/blobs/types.js';
import { objectAccess } from '../operations/access.js';
import { blobAccessOf, snapshotOf } from './blob.js';
import type { BlobOperation, BlobRequest } from './request.js';

interface Input {
  readonly address: SnapshotAddress;
  readonly options: DeleteOptions;
}

const snapshotsHeader = 'x-ms-delete-snapshots';

/** Deleting for good is deleting: nothing is kept of what was deleted. */
const deleteTypes: ReadonlySet<string> = new Set(['', 'permanent']);

function snapshotsOf({ header }: BlobRequest): DeleteSnapshots | undefined {
  const text = header(snapshotsHeader);
  if (text === undefined) return undefined;
  const which = text.toLowerCase();
  if (which === 'include' || which === 'only') return which;
  throw invalidHeader(snapshotsHeader, text);
}

/** `DELETE /container/blob` (blob-service §16.2). */
export const deleteBlob: BlobOperation<Input, void> = {
  access: objectAccess('delete'),
  bodyBytesMax: 0,

  parse(request) {
    const address = snapshotOf(request);
    const snapshots = snapshotsOf(request);
    const type = request.query.get('deletetype') ?? '';
    if (!deleteTypes.has(type.toLowerCase())) {
      throw invalidQueryParameter('deletetype', type, 'It can be permanent.');
    }
    if (address.snapshotMicros !== undefined && snapshots !== undefined) {
      throw invalidHeader(snapshotsHeader, snapshots);
    }
    const access = blobAccessOf(request, 'write');
    return { address, options: snapshots === undefined ? access : { ...access, snapshots } };
  },

  run({ address, options }, { backend }) {
    return backend.blobs.deleteBlob(address, options);
  },

  render() {
    return { status: 202, headers: ['x-ms-delete-type-permanent', 'true'] };
  },
};
