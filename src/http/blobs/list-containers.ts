import { yieldIfBusy } from '../../base/async/slice.js';
import { invalidQueryParameter } from '../../model/errors/query-errors.js';
import type { ContainerList } from '../../services/blobs/types.js';
import type { QueryOptions } from '../../wire/http/query-string.js';
import { containerListInPieces } from '../../wire/xml/blob-container-list.js';
import { serviceAccess } from '../operations/access.js';
import {
  containerListOf,
  containerPage,
  pageQuery,
  type ContainerListInput,
} from '../operations/container-list.js';
import { itemsAtOnceMax, longXmlReply } from '../operations/replies.js';
import type { BlobOperation } from './request.js';

interface Input extends ContainerListInput {
  readonly included: ReadonlySet<string>;
}

/** `GET /?comp=list` (blob-service §6.1). Deleted containers are not kept, so none is listed. */
export const listContainers: BlobOperation<Input, ContainerList> = {
  access: serviceAccess('list'),
  bodyBytesMax: 0,

  parse({ query, account }) {
    return { ...containerListOf(query, account), included: includedOf(query) };
  },

  async run(input, { backend, account, exchange }) {
    await yieldIfBusy(backend.clock);
    const asked = { ...pageQuery(input), includesSystem: input.included.has('system') };
    return backend.blobs.containers.list(account, asked, exchange.memory);
  },

  render({ containers, next }, input, { account, exchange, backend, version }) {
    const list = containerListInPieces({
      endpoint: `${exchange.base}/`,
      version,
      ...containerPage(input, account, next),
      showsMetadata: input.included.has('metadata'),
      containers,
    });
    return longXmlReply(list, containers.length > itemsAtOnceMax, backend.clock);
  },
};

const includable: ReadonlySet<string> = new Set(['metadata', 'deleted', 'system']);

/** The members of `include`, in lower case. */
function includedOf(query: QueryOptions): ReadonlySet<string> {
  const include = query.get('include') ?? '';
  const names = include.split(',').map((name) => name.trim().toLowerCase());
  const unknown = names.find((name) => name !== '' && !includable.has(name));
  if (unknown === undefined) return new Set(names);
  const known = [...includable].join(', ');
  throw invalidQueryParameter('include', include, `What can be included is ${known}.`);
}
