import { StorageError } from '../../model/errors/storage-error.js';
import type { GrantedAccess } from '../exchange/access.js';
import { objectAccess } from '../operations/access.js';
import { routeTo } from '../operations/route.js';
import type { BlobRoute } from './blob-route.js';
import type { BlobOperation } from './request.js';

/** Greater than the longest query with its serialisations. */
const bodyBytesMax = 1024 * 1024;

/**
 * An operation that is refused even to callers with the permission. The error tells an alternative.
 */
function absent(access: GrantedAccess, message: string): BlobOperation<never, never> {
  const refuse = () => {
    throw new StorageError('NotImplemented', { message });
  };
  return { access, bodyBytesMax, parse: refuse, run: refuse, render: refuse };
}

const queryContents = absent(
  objectAccess('read'),
  'Blobs are not queried here. Read the blob, or ranges of it, and select in your program.',
);
const setExpiry = absent(
  objectAccess('write'),
  'Blobs do not expire: that needs an account with a hierarchical namespace. Delete the blob.',
);

const ofBlob = { resource: 'blob' } as const;
const expiry = { ...ofBlob, comp: 'expiry', since: '2020-02-10' } as const;
const query = { ...ofBlob, comp: 'query', since: '2019-12-12' } as const;

/**
 * Operations of the protocol that this server does not have (blob-service §1.2). Each answers
 * `NotImplemented` to callers with the permission, so that no client assumes success.
 */
export const absentRoutes: readonly BlobRoute[] = [
  routeTo('QueryBlobContents', { methods: ['POST'], ...query }, queryContents),
  routeTo('SetBlobExpiry', { methods: ['PUT'], ...expiry }, setExpiry),
];

const absentOperations: ReadonlySet<unknown> = new Set(
  absentRoutes.map(({ operation }) => operation),
);

/** Whether a route is one of these, whose headers are part of what is refused. */
export function isAbsent({ operation }: BlobRoute): boolean {
  return absentOperations.has(operation);
}
