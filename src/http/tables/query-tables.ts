import { yieldIfBusy } from '../../base/async/slice.js';
import { encodeToken } from '../../wire/odata/continuation.js';
import type { MetadataLevel } from '../../wire/odata/media-type.js';
import { parseTableQuery, type TableQueryOptions } from '../../wire/odata/query-options.js';
import { renderTables } from '../../wire/odata/render.js';
import type { TablePage } from '../../services/tables/types.js';
import { containerAccess } from '../operations/access.js';
import { levelOf } from './format.js';
import type { TableOperation } from './operation.js';
import { jsonReply, tableRenderContext } from './replies.js';

interface Input {
  readonly level: MetadataLevel;
  readonly query: TableQueryOptions;
}

/** `GET /Tables` (table-service §3.5). */
export const queryTables: TableOperation<Input, TablePage> = {
  access: containerAccess('list'),
  bodyBytesMax: 0,

  parse(request) {
    const query = parseTableQuery(request.query, request.backend.rules.queries);
    return { level: levelOf(request), query };
  },

  async run({ query }, { backend: { tables, clock }, account, exchange }) {
    await yieldIfBusy(clock);
    return tables.queryTables(account, query, exchange.memory);
  },

  render({ tables, next }, { level, query }, request) {
    const context = tableRenderContext(request, level, query.selectText);
    const reply = jsonReply(200, level, renderTables(tables, context));
    if (next !== undefined) {
      reply.headers.push('x-ms-continuation-NextTableName', encodeToken(next));
    }
    return reply;
  },
};
