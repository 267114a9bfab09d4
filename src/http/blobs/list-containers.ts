import { yieldIfBusy } from '../../base/async/slice.js';
import type { ContainerList } from '../../services/blobs/types.js';
import { parseContainerInclude, type ContainerInclude } from '../../wire/blobs/list-include.js';
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
  readonly included: ReadonlySet<ContainerInclude>;
}

/** `GET /?comp=list` (blob-service §6.1). */
export const listContainers: BlobOperation<Input, ContainerList> = {
  access: serviceAccess('list'),
  bodyBytesMax: 0,

  parse({ query, account, version }) {
    const included = parseContainerInclude(query.get('include'), version);
    return { ...containerListOf(query, account), included };
  },

  async run(input, { backend, account, exchange }) {
    await yieldIfBusy(backend.clock);
    const asked = {
      ...pageQuery(input),
      includesSystem: input.included.has('system'),
      includesDeleted: input.included.has('deleted'),
    };
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
