import { lazyList } from '../../base/lazy-list.js';
import { yieldIfBusy } from '../../base/async/slice.js';
import { invalidQueryParameter } from '../../model/errors/query-errors.js';
import type { QueryOptions } from '../../wire/http/query-string.js';
import { queueListInPieces } from '../../wire/xml/queue-list.js';
import type { QueuePage } from '../../services/queues/types.js';
import { serviceAccess } from '../operations/access.js';
import {
  containerListOf,
  containerPage,
  pageQuery,
  type ContainerListInput,
} from '../operations/container-list.js';
import { itemsAtOnceMax, longXmlReply } from '../operations/replies.js';
import type { QueueOperation } from './request.js';

interface Input extends ContainerListInput {
  readonly includesMetadata: boolean;
}

/** `GET /?comp=list` (queue-service §6.1). */
export const listQueues: QueueOperation<Input, QueuePage> = {
  access: serviceAccess('list'),
  bodyBytesMax: 0,

  parse({ query, account }) {
    return { ...containerListOf(query, account), includesMetadata: includesMetadata(query) };
  },

  async run(input, { backend, account, exchange }) {
    await yieldIfBusy(backend.clock);
    return backend.queues.listQueues(account, pageQuery(input), exchange.memory);
  },

  render({ queues, next }, input, { account, exchange, backend }) {
    const list = queueListInPieces({
      endpoint: `${exchange.base}/`,
      version: exchange.version,
      ...containerPage(input, account, next),
      queues: input.includesMetadata ? queues : lazyList(queues, ({ name }) => ({ name })),
    });
    return longXmlReply(list, queues.length > itemsAtOnceMax, backend.clock);
  },
};

function includesMetadata(query: QueryOptions): boolean {
  const include = query.get('include');
  if (include === undefined || include === '') return false;
  if (include.toLowerCase() === 'metadata') return true;
  throw invalidQueryParameter('include', include, 'Only metadata can be included.');
}
