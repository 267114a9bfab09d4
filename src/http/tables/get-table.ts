import type { MetadataLevel } from '../../wire/odata/media-type.js';
import { renderTable } from '../../wire/odata/render.js';
import type { TableInfo } from '../../services/tables/types.js';
import { containerAccess } from '../operations/access.js';
import { resourceOf } from '../operations/request.js';
import { levelOf } from './format.js';
import type { TableOperation } from './operation.js';
import { jsonReply, tableRenderContext } from './replies.js';

interface Input {
  readonly level: MetadataLevel;
  readonly name: string;
}

/** `GET /Tables('name')` (table-service §3.6). */
export const getTable: TableOperation<Input, TableInfo> = {
  access: containerAccess('list'),
  bodyBytesMax: 0,

  parse(request) {
    return { level: levelOf(request), name: resourceOf(request, 'table-entry').name };
  },

  run({ name }, { backend: { tables }, account }) {
    return tables.getTable(account, name);
  },

  render({ name }, { level }, request) {
    return jsonReply(200, level, renderTable(name, tableRenderContext(request, level)));
  },
};
