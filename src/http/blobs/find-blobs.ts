import type { TagQuery } from '../../model/blobs/tag-expression.js';
import { invalidQueryParameter, missingQueryParameter } from '../../model/errors/query-errors.js';
import type { FindOptions, FoundBlobs } from '../../services/blobs/types.js';
import { parseFindInclude } from '../../wire/blobs/list-include.js';
import { formatFindMarker, parseFindMarker } from '../../wire/blobs/list-marker.js';
import { parseTagQuery, type SearchScope } from '../../wire/blobs/tag-expression.js';
import { findResultInPieces } from '../../wire/xml/blob-find-result.js';
import type { GrantedAccess } from '../exchange/access.js';
import { containerAccess, serviceAccess } from '../operations/access.js';
import { listInputOf, pageSizeOf } from '../operations/list-page.js';
import { itemsAtOnceMax, longXmlReply } from '../operations/replies.js';
import { containerOf } from './container.js';
import type { BlobOperation, BlobRequest } from './request.js';

interface Input {
  /** As sent. */
  readonly where: string;
  readonly query: TagQuery;
  readonly options: FindOptions;
}

type Find = (input: Input, request: BlobRequest) => Promise<FoundBlobs>;

function finding(
  scope: SearchScope,
  access: GrantedAccess,
  find: Find,
): BlobOperation<Input, FoundBlobs> {
  return {
    access,
    bodyBytesMax: 0,

    parse({ query, version }) {
      const where = query.get('where');
      if (where === undefined) throw missingQueryParameter('where');
      const input = listInputOf(query);
      const from = parseFindMarker(input.marker);
      const limit = pageSizeOf(input);
      return {
        where,
        query: comparingTags(where, parseTagQuery(where, scope)),
        options: {
          limit,
          versions: parseFindInclude(query.get('include'), version).has('versions'),
          ...(from === undefined ? {} : { from }),
        },
      };
    },

    isReadOnly: () => true,

    run: find,

    render({ blobs, next }, { where }, { exchange, backend }) {
      const result = findResultInPieces({
        endpoint: `${exchange.base}/`,
        where,
        blobs,
        ...(next === undefined ? {} : { nextMarker: formatFindMarker(next) }),
      });
      return longXmlReply(result, blobs.length > itemsAtOnceMax, backend.clock);
    },
  };
}

function comparingTags(where: string, query: TagQuery): TagQuery {
  if (query.comparisons.length > 0) return query;
  throw invalidQueryParameter('where', where, 'It must compare a tag.');
}

/** `GET /?comp=blobs&where=…` (blob-service §6.6). */
export const findBlobs = finding('account', serviceAccess('find'), ({ query, options }, request) =>
  request.backend.blobs.findInAccount(request.account, query, options, request.exchange.memory),
);

/** `GET /container?restype=container&comp=blobs&where=…` (blob-service §6.6). */
export const findBlobsInContainer = finding(
  'container',
  containerAccess('find'),
  ({ query, options }, request) =>
    request.backend.blobs.findInContainer(
      containerOf(request),
      query,
      options,
      request.exchange.memory,
    ),
);
