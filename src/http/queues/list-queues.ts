import { lazyList } from '../../base/lazy-list.js';
import { yieldIfBusy } from '../../base/async/slice.js';
import { invalidQueryParameter } from '../../model/errors/query-errors.js';
import { StorageError } from '../../model/errors/storage-error.js';
import type { QueryOptions } from '../../wire/http/query-string.js';
import { queueListInPieces } from '../../wire/xml/queue-list.js';
import { listMax } from '../../services/queues/limits.js';
import type { QueuePage } from '../../services/queues/types.js';
import { serviceAccess } from '../operations/access.js';
import { longXmlReply } from '../operations/replies.js';
import { rangedInteger } from './parameters.js';
import type { QueueOperation } from './request.js';

interface Input {
  readonly prefix: string | undefined;
  /** As sent, and the queue name that it encodes. */
  readonly marker: string | undefined;
  readonly from: string | undefined;
  readonly maxResults: number | undefined;
  readonly includesMetadata: boolean;
}

/** `GET /?comp=list` (queue-service §6.1). */
export const listQueues: QueueOperation<Input, QueuePage> = {
  access: serviceAccess('list'),
  bodyBytesMax: 0,

  parse({ query, account }) {
    const marker = query.get('marker');
    return {
      prefix: query.get('prefix'),
      marker,
      from: parseMarker(marker, account),
      maxResults: rangedInteger(query, 'maxresults', pageSizes),
      includesMetadata: includesMetadata(query),
    };
  },

  async run({ prefix, from, maxResults = listMax }, { backend, account, exchange }) {
    await yieldIfBusy(backend.clock);
    const query = {
      ...(prefix === undefined ? {} : { prefix }),
      ...(from === undefined ? {} : { from }),
      limit: Math.min(maxResults, listMax),
    };
    return backend.queues.listQueues(account, query, exchange.memory);
  },

  render({ queues, next }, { prefix, marker, maxResults, includesMetadata }, request) {
    const { account, exchange, backend } = request;
    const list = queueListInPieces({
      endpoint: `${exchange.base}/`,
      version: exchange.version,
      ...(prefix === undefined ? {} : { prefix }),
      ...(marker === undefined ? {} : { marker }),
      ...(maxResults === undefined ? {} : { maxResults }),
      queues: includesMetadata ? queues : lazyList(queues, ({ name }) => ({ name })),
      ...(next === undefined ? {} : { nextMarker: markerOf(account, next) }),
    });
    return longXmlReply(list, queues.length > queuesAtOnceMax, backend.clock);
  },
};

/** So many queues are rendered at once, whatever their metadata. */
const queuesAtOnceMax = 4;

/** A page size above the maximum means a full page. */
const pageSizes = { min: 1, max: 2_147_483_647 };

/** The marker of a page in the format of the cloud: the position of the next queue. */
export function markerOf(account: string, name: string): string {
  return `/${account}/${name}`;
}

const markedNameLengthMax = 63;
const markedName = /^[a-z0-9-]+$/;

/** The name in a marker. Throws `InvalidMarker` for anything that `markerOf` does not make. */
export function parseMarker(marker: string | undefined, account: string): string | undefined {
  if (marker === undefined || marker === '') return undefined;
  const start = markerOf(account, '');
  const name = marker.slice(start.length);
  const isName = name.length <= markedNameLengthMax && markedName.test(name);
  if (!marker.startsWith(start) || !isName) throw new StorageError('InvalidMarker');
  return name;
}

function includesMetadata(query: QueryOptions): boolean {
  const include = query.get('include');
  if (include === undefined || include === '') return false;
  if (include.toLowerCase() === 'metadata') return true;
  throw invalidQueryParameter('include', include, 'Only metadata can be included.');
}
