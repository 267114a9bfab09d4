import { emptyReply } from '../operations/replies.js';
import type { BlobOperation } from './request.js';

/** From this version on answers say whether names are a hierarchy. */
const hierarchyVersion = '2019-07-07';

/**
 * `GET` or `HEAD …restype=account&comp=properties` of the account, a container or a blob, which
 * need not exist (blob-service §6.4). The secondary endpoint makes the account one with read access
 * to it.
 */
export const getAccountInformation: BlobOperation<void, void> = {
  access: { kind: 'credential', byToken: false },
  bodyBytesMax: 0,

  parse() {},

  run() {
    return Promise.resolve();
  },

  render(_output, _input, { version }) {
    const reply = emptyReply(200);
    reply.headers.push('x-ms-sku-name', 'Standard_RAGRS', 'x-ms-account-kind', 'StorageV2');
    if (version >= hierarchyVersion) reply.headers.push('x-ms-is-hns-enabled', 'false');
    return reply;
  },
};
