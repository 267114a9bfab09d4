import { StorageError } from '../../model/errors/storage-error.js';
import { accountEncryptionScope } from './container.js';
import type { BlobRequest } from './request.js';

/**
 * Headers of features that this server does not have, and what clients can do instead. If the
 * server ignored one, it would store something else than the client asks for.
 */
const absentHeaders = Object.entries({
  'x-ms-encryption-key': 'There are no keys of clients: encrypt before you write.',
  'x-ms-encryption-scope': 'There are no encryption scopes: leave the header out.',
  'x-ms-expiry-option': 'Blobs do not expire: leave it out, and delete the blob.',
  'x-ms-expiry-time': 'Blobs do not expire: leave it out, and delete the blob.',
});

/** Values that ask for the behaviour that this server has anyway. */
const asksForNothing: ReadonlySet<string> = new Set(['', 'false', accountEncryptionScope]);

/** Refuses a request that asks for one of them. Throws `NotImplemented`. */
export function refuseAbsentFeatures({ header }: Pick<BlobRequest, 'header'>): void {
  for (const [name, instead] of absentHeaders) {
    const value = header(name);
    if (value === undefined || asksForNothing.has(value)) continue;
    throw new StorageError('NotImplemented', { message: `${name} is not supported. ${instead}` });
  }
}
