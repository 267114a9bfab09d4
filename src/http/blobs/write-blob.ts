import { invalidHeader } from '../../model/errors/query-errors.js';
import { StorageError } from '../../model/errors/storage-error.js';
import type { BlobConditions } from '../../model/blobs/conditions.js';
import type { Immutability } from '../../model/blobs/immutability.js';
import type { BlobTier } from '../../model/blobs/properties.js';
import type { Tags } from '../../model/blobs/tags.js';
import type { Access, NewProperties } from '../../services/blobs/types.js';
import { immutabilityHeaders } from '../../wire/blobs/immutability-headers.js';
import { parseTagsHeader } from '../../wire/blobs/tags-header.js';
import { accessTierHeader } from '../../wire/blobs/tier-headers.js';
import type { GrantedAccess } from '../exchange/access.js';
import { objectAccess } from '../operations/access.js';
import { metadataOf } from '../operations/metadata.js';
import type { BlobRequest } from './request.js';

// What operations have in common that write a whole blob (blob-service §12, §13, §14, §17).

/** Writing may replace a blob; creating may not. */
export const createBlobAccess: GrantedAccess = {
  ...objectAccess('create', 'write'),
  needs: 'any',
};

/**
 * The metadata, the tags, the tier and the immutability that a request gives a blob. Throws as
 * `tagsOf` and `immutabilityHeaders`, and `InvalidHeaderValue`.
 */
export function describedBy(
  request: Pick<BlobRequest, 'header' | 'exchange' | 'version' | 'backend'>,
): Omit<NewProperties, 'headers'> {
  const tier = tierOf(request);
  const immutability = keptBy(request);
  return {
    metadata: metadataOf(request.exchange),
    tags: tagsOf(request),
    ...(tier === undefined ? {} : { tier }),
    ...(immutability === undefined ? {} : { immutability }),
  };
}

/**
 * The immutability that a request gives to a blob that it writes. Throws as `immutabilityHeaders`.
 */
export function keptBy({
  header,
  backend,
}: Pick<BlobRequest, 'header' | 'backend'>): Immutability | undefined {
  return immutabilityHeaders(header, backend.clock.nowMicros());
}

/** The tier that a request sets; undefined when it sets none. Throws `InvalidHeaderValue`. */
export function tierOf({
  header,
  version,
}: Pick<BlobRequest, 'header' | 'version'>): BlobTier | undefined {
  const tier = accessTierHeader(header, version);
  return tier === undefined ? undefined : { tier };
}

/** Page blobs alone have a size of their own. Throws `InvalidHeaderValue`. */
export function checkNoPageBytes({ header }: Pick<BlobRequest, 'header'>): void {
  const name = 'x-ms-blob-content-length';
  const bytes = header(name);
  if (bytes !== undefined) throw invalidHeader(name, bytes);
}

/** The tags that a request gives a blob. Throws as `parseTagsHeader`. */
export function tagsOf({ header }: Pick<BlobRequest, 'header'>): Tags {
  const text = header('x-ms-tags');
  return text === undefined ? [] : parseTagsHeader(text);
}

/** Answers to writes say that what was written is encrypted (blob-service §3.2). */
export const encryptedHeaders = ['x-ms-request-server-encrypted', 'true'] as const;

/**
 * Runs a write that replaces a blob. For a caller who may only create, an existing blob is refused
 * with `AuthorizationPermissionMismatch` (blob-service §4.3).
 */
export async function replacing<Request extends Access, Outcome>(
  { mayOverwrite }: Pick<BlobRequest, 'mayOverwrite'>,
  access: Request,
  write: (access: Request) => Promise<Outcome>,
): Promise<Outcome> {
  if (mayOverwrite) return write(access);
  const conditions: BlobConditions = { ...access.conditions, ifNoneMatch: 'any' };
  try {
    return await write({ ...access, conditions });
  } catch (error) {
    const isThere = error instanceof StorageError && error.code === 'BlobAlreadyExists';
    if (!isThere || access.conditions?.ifNoneMatch === 'any') throw error;
    throw new StorageError('AuthorizationPermissionMismatch', {
      details: [
        [
          'AuthenticationErrorDetail',
          'The blob exists, and the signature may create blobs but not write them.',
        ],
      ],
      cause: error,
    });
  }
}
