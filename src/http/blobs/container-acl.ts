import { services } from '../../model/services/services.js';
import { StorageError } from '../../model/errors/storage-error.js';
import type {
  Access,
  ContainerAcl,
  ContainerAddress,
  Written,
} from '../../services/blobs/types.js';
import { renderSignedIdentifiers } from '../../wire/xml/signed-identifiers.js';
import { keyAccess } from '../operations/access.js';
import { documentReply } from '../operations/replies.js';
import { xmlBodyBytesMax } from '../operations/request.js';
import { identifiersOf } from '../operations/signed-identifiers.js';
import {
  containerAccessOf,
  containerOf,
  publicAccessHeaders,
  publicAccessOf,
} from './container.js';
import type { BlobOperation } from './request.js';
import { modifiedHeaders } from '../../wire/blobs/modified-headers.js';

interface Input {
  readonly address: ContainerAddress;
  readonly access: Access;
}

/** Earlier versions have no permissions to create and to append. */
const createVersion = '2015-04-05';

/** `GET` or `HEAD /container?restype=container&comp=acl` (blob-service §7). */
export const getContainerAcl: BlobOperation<Input, ContainerAcl & Written> = {
  access: keyAccess,
  bodyBytesMax: 0,

  parse(request) {
    return { address: containerOf(request), access: containerAccessOf(request) };
  },

  run({ address, access }, { backend }) {
    return backend.blobs.containers.getAcl(address, access);
  },

  render({ publicAccess, identifiers, modifiedMicros }, _input, { exchange, version }) {
    const isNew = identifiers.some(({ permission = '' }) => /[ac]/.test(permission));
    if (isNew && version < createVersion) throw new StorageError('FeatureVersionMismatch');
    const reply = documentReply(exchange, renderSignedIdentifiers(identifiers));
    reply.headers.push(...modifiedHeaders(modifiedMicros), ...publicAccessHeaders(publicAccess));
    return reply;
  },
};

interface Replacement extends Input {
  readonly acl: ContainerAcl;
}

/**
 * `PUT /container?restype=container&comp=acl`: replaces public access and policies. Without the
 * header the container becomes private, without a body it has no policies (blob-service §7).
 */
export const setContainerAcl: BlobOperation<Replacement, Written> = {
  access: keyAccess,
  bodyBytesMax: xmlBodyBytesMax,

  parse(request) {
    const identifiers = identifiersOf(request.exchange, services.blob.signature.permissions);
    return {
      address: containerOf(request),
      access: containerAccessOf(request, 'if-modified-since', 'if-unmodified-since'),
      acl: { publicAccess: publicAccessOf(request), identifiers },
    };
  },

  run({ address, access, acl }, { backend }) {
    return backend.blobs.containers.setAcl(address, acl, access);
  },

  render({ modifiedMicros }) {
    return { status: 200, headers: modifiedHeaders(modifiedMicros) };
  },
};
