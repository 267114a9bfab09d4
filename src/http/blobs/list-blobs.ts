import type { BlobList, BlobQuery, ContainerAddress } from '../../services/blobs/types.js';
import {
  formatBlobMarker,
  parseBlobMarker,
  type MarkedBlob,
} from '../../wire/blobs/list-marker.js';
import { parseBlobInclude, type BlobInclude } from '../../wire/blobs/list-include.js';
import { blobListInPieces } from '../../wire/xml/blob-list.js';
import { containerAccess, objectAccess } from '../operations/access.js';
import {
  enumeratedPage,
  listInputOf,
  pageSizeOf,
  type ListInput,
} from '../operations/list-page.js';
import { itemsAtOnceMax, longXmlReply } from '../operations/replies.js';
import { authorise } from '../pipeline/authorise.js';
import { containerOf } from './container.js';
import type { BlobOperation, BlobRequest } from './request.js';

interface Input extends ListInput {
  readonly address: ContainerAddress;
  /** Absent: blobs are not grouped. */
  readonly delimiter: string | undefined;
  readonly from: MarkedBlob | undefined;
  readonly included: ReadonlySet<BlobInclude>;
}

/**
 * `GET /container?restype=container&comp=list` (blob-service §8). Permissions that can be included
 * are ignored: no blob has any.
 */
export const listBlobs: BlobOperation<Input, BlobList> = {
  access: { ...containerAccess('list'), publicAt: 'container' },
  bodyBytesMax: 0,

  parse(request) {
    const { query, version } = request;
    const input = listInputOf(query);
    const sent = query.get('delimiter');
    const delimiter = sent === '' ? undefined : sent;
    return {
      ...input,
      address: containerOf(request),
      delimiter,
      from: parseBlobMarker(input.marker) ?? startOf(request),
      included: parseBlobInclude(query.get('include'), version, delimiter),
    };
  },

  run(input, { backend, exchange }) {
    const { caller } = exchange;
    // Tags are never public.
    if (caller.kind === 'anonymous' && input.included.has('tags')) {
      authorise(caller, objectAccess('tag'), input.address.container);
    }
    return backend.blobs.listBlobs(input.address, blobQuery(input), exchange.memory);
  },

  render({ items, next }, input, { exchange, backend, version }) {
    const { included, delimiter, address } = input;
    const list = blobListInPieces({
      endpoint: `${exchange.base}/`,
      container: address.container,
      version,
      ...enumeratedPage(input, next === undefined ? undefined : formatBlobMarker(next)),
      ...(delimiter === undefined ? {} : { delimiter }),
      include: {
        metadata: included.has('metadata'),
        tags: included.has('tags'),
        copy: included.has('copy'),
        policies: included.has('immutabilitypolicy'),
        legalHolds: included.has('legalhold'),
      },
      items,
    });
    return longXmlReply(list, items.length > itemsAtOnceMax, backend.clock);
  },
};

/** The version of the protocol that lists blobs from a name on (blob-service §8). */
const startSince = '2026-02-06';

/** A further page begins at its marker instead. */
function startOf({ query, version }: BlobRequest): MarkedBlob | undefined {
  const name = version < startSince ? undefined : query.get('startfrom');
  return name === undefined || name === '' ? undefined : { name };
}

function blobQuery(input: Input): BlobQuery {
  const { prefix, delimiter, from, included } = input;
  return {
    ...(prefix === undefined ? {} : { prefix }),
    ...(delimiter === undefined ? {} : { delimiter }),
    ...(from === undefined ? {} : { from }),
    snapshots: included.has('snapshots'),
    uncommitted: included.has('uncommittedblobs'),
    deleted: included.has('deleted'),
    versions: included.has('versions'),
    versionsOnly: included.has('deletedwithversions'),
    limit: pageSizeOf(input),
  };
}
