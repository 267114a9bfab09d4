import type { Tags } from '../../model/blobs/tags.js';
import type { Access, SnapshotAddress } from '../../services/blobs/types.js';
import { parseBlobTags, renderBlobTags } from '../../wire/xml/blob-tags.js';
import { objectAccess } from '../operations/access.js';
import { emptyReply, xmlReply } from '../operations/replies.js';
import { xmlBodyBytesMax } from '../operations/request.js';
import { snapshotOf, taggedAccessOf, versionOf } from './blob.js';
import type { BlobOperation } from './request.js';

interface Reading {
  readonly address: SnapshotAddress;
  readonly access: Access;
}

/** `GET /container/blob?comp=tags` (blob-service §15.4). */
export const getBlobTags: BlobOperation<Reading, Tags> = {
  access: objectAccess('tag'),
  bodyBytesMax: 0,

  parse(request) {
    return { address: snapshotOf(request), access: taggedAccessOf(request, 'read') };
  },

  isReadOnly: () => true,

  run({ address, access }, { backend }) {
    return backend.blobs.getTags(address, access);
  },

  render(tags) {
    return xmlReply(200, renderBlobTags(tags));
  },
};

interface Replacement {
  readonly address: SnapshotAddress;
  readonly access: Access;
  readonly tags: Tags;
}

/** `PUT /container/blob?comp=tags`: replaces all of them (blob-service §15.4). */
export const setBlobTags: BlobOperation<Replacement, void> = {
  access: objectAccess('tag'),
  bodyBytesMax: xmlBodyBytesMax,

  parse(request) {
    return {
      address: versionOf(request),
      access: taggedAccessOf(request, 'write'),
      tags: parseBlobTags(request.exchange.body),
    };
  },

  run({ address, access, tags }, { backend }) {
    return backend.blobs.setTags(address, tags, access);
  },

  render() {
    return emptyReply(204);
  },
};
