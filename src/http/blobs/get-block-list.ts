import { invalidQueryParameter } from '../../model/errors/query-errors.js';
import type { BlockListReading } from '../../services/blobs/block-lists.js';
import type { Access, BlockListKind, SnapshotAddress } from '../../services/blobs/types.js';
import { blockListInPieces } from '../../wire/xml/blob-block-list.js';
import type { QueryOptions } from '../../wire/http/query-string.js';
import { objectAccess } from '../operations/access.js';
import { itemsAtOnceMax, longXmlReply } from '../operations/replies.js';
import { authorise } from '../pipeline/authorise.js';
import { snapshotOf, taggedAccessOf } from './blob.js';
import { readBlobAccess } from './get-blob-properties.js';
import type { BlobOperation } from './request.js';
import { modifiedHeaders } from '../../wire/blobs/modified-headers.js';

interface Input {
  readonly address: SnapshotAddress;
  readonly access: Access;
  readonly kind: BlockListKind;
}

const kinds: readonly BlockListKind[] = ['committed', 'uncommitted', 'all'];

function kindOf(query: QueryOptions): BlockListKind {
  const text = query.get('blocklisttype') ?? '';
  if (text === '') return 'committed';
  const kind = kinds.find((each) => each === text.toLowerCase());
  if (kind !== undefined) return kind;
  throw invalidQueryParameter('blocklisttype', text, `It can be ${kinds.join(', ')}.`);
}

/** `GET /container/blob?comp=blocklist` (blob-service §12.5). */
export const getBlockList: BlobOperation<Input, BlockListReading> = {
  access: readBlobAccess,
  bodyBytesMax: 0,

  parse(request) {
    return {
      address: snapshotOf(request),
      access: taggedAccessOf(request, 'read'),
      kind: kindOf(request.query),
    };
  },

  run({ address, access, kind }, { backend, exchange: { caller } }) {
    // Committed blocks alone are public.
    if (caller.kind === 'anonymous' && kind !== 'committed') {
      authorise(caller, objectAccess('read'), address.container);
    }
    return backend.blobs.getBlockList(address, kind, access);
  },

  async render({ blocks, bytes, modifiedMicros }, _input, { backend }) {
    const { committed = [], uncommitted = [] } = blocks;
    const isLong = committed.length + uncommitted.length > itemsAtOnceMax;
    const reply = await longXmlReply(blockListInPieces(blocks), isLong, backend.clock);
    reply.headers.push('x-ms-blob-content-length', String(bytes));
    if (modifiedMicros !== undefined) reply.headers.push(...modifiedHeaders(modifiedMicros));
    return reply;
  },
};
