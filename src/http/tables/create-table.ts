import { StorageError } from '../../model/errors/storage-error.js';
import { parseTableBody } from '../../wire/odata/json-reader.js';
import type { MetadataLevel } from '../../wire/odata/media-type.js';
import { renderTable } from '../../wire/odata/render.js';
import type { TableInfo } from '../../services/tables/types.js';
import { createContainerAccess } from '../operations/access.js';
import type { Reply } from '../exchange/service.js';
import { levelOf, requireJsonBody, preferenceOf, type Preference } from './format.js';
import { locationHeaders, jsonReply, noContentReply, tableRenderContext } from './replies.js';
import { bodyBytesMax, type TableOperation } from './operation.js';
import type { TableRequest } from './request.js';

interface Input {
  readonly name: string;
  readonly preference: Preference | undefined;
  /** Undefined when the answer has no body. */
  readonly level: MetadataLevel | undefined;
}

/** `POST /Tables` (table-service §3.7). */
export const createTable: TableOperation<Input, TableInfo> = {
  access: createContainerAccess,
  bodyBytesMax,

  parse(request) {
    const preference = preferenceOf(request.header('prefer'));
    const level = preference === 'return-no-content' ? undefined : levelOf(request);
    requireJsonBody(request);
    const name = parseTableBody(request.text());
    if (name === undefined) throw new StorageError('PropertiesNeedValue');
    return { name, preference, level };
  },

  describe: ({ name }) => ({ container: name }),

  run({ name }, { backend: { tables }, account }) {
    return tables.createTable(account, name);
  },

  render({ name }, { preference, level }, request) {
    const reply = created(name, level, request);
    if (preference !== undefined) reply.headers.push('Preference-Applied', preference);
    return reply;
  },
};

function created(name: string, level: MetadataLevel | undefined, request: TableRequest): Reply {
  const location = `${request.exchange.base}/Tables('${name}')`;
  if (level === undefined) {
    const reply = noContentReply();
    reply.headers.push(...locationHeaders(location, 'with-id'));
    return reply;
  }
  const reply = jsonReply(201, level, renderTable(name, tableRenderContext(request, level)));
  reply.headers.push(...locationHeaders(location, 'alone'));
  return reply;
}
