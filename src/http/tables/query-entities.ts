import { unreachable } from '../../base/invariant.js';
import { encodeToken } from '../../wire/odata/continuation.js';
import type { MetadataLevel } from '../../wire/odata/media-type.js';
import { parseEntityQuery, type EntityQueryOptions } from '../../wire/odata/query-options.js';
import { renderEntities } from '../../wire/odata/render.js';
import { nullBytes } from '../../wire/odata/selection.js';
import { planQuery } from '../../services/tables/plan.js';
import type { EntityPage, QueryReport } from '../../services/tables/types.js';
import { objectAccess } from '../operations/access.js';
import { resourceOf } from '../operations/request.js';
import type { Access } from '../pipeline/authorise.js';
import type { EntityName, PartitionLoad } from '../pipeline/request-load.js';
import { rangeOf } from './access.js';
import { levelOf } from './format.js';
import type { TableOperation } from './operation.js';
import { jsonReply, renderContext } from './replies.js';

interface Input {
  readonly level: MetadataLevel;
  readonly table: string;
  readonly query: EntityQueryOptions;
}

/** Signatures for an account are made for either resource type (spec table-service §8.4). */
const queryAccess: Access = { ...objectAccess('read'), orScope: 'container' };

/** `GET /table()` (spec table-service §3.9). */
export const queryEntities: TableOperation<Input, EntityPage> = {
  access: queryAccess,
  bodyBytesMax: 0,

  parse(request) {
    const { table } = resourceOf(request, 'entities');
    const query = parseEntityQuery(request.query, request.backend.leniency.queries);
    return { level: levelOf(request), table, query };
  },

  async run({ table, query }, request) {
    const { backend, account, exchange } = request;
    const within = rangeOf(request);
    const permitted = {
      ...query,
      ...(within === undefined ? {} : { within }),
      // An answer names what an entity lacks: long lists would make it many times as large.
      rowBytesMin: nullBytes(query.select ?? []),
    };
    const page = await backend.tables.queryEntities(account, table, permitted);
    exchange.query = page.report;
    return page;
  },

  entities: ({ query }) => namedEntities(query),
  load: loadOfPage,

  render(page, { level, table, query }, request) {
    const { select, selectText } = query;
    const context = renderContext(request, { table, level, select, selectText });
    const reply = jsonReply(200, level, renderEntities(page.entities, context));
    for (const [name, value] of continuationHeaders(page)) reply.headers.push(name, value);
    reply.headers.push('x-tabularium-plan', planText(page.report));
    return reply;
  },
};

/** Where the next page starts. Without a row key, at the beginning of that partition. */
export function continuationHeaders({ next }: EntityPage): [name: string, value: string][] {
  if (next === undefined) return [];
  const headers: [name: string, value: string][] = [
    ['x-ms-continuation-NextPartitionKey', encodeToken(next.partitionKey)],
  ];
  if (next.rowKey !== undefined) {
    headers.push(['x-ms-continuation-NextRowKey', encodeToken(next.rowKey)]);
  }
  return headers;
}

function planText({ planClass, intervals, rowsScanned, rowsReturned }: QueryReport): string {
  return `class=${planClass};intervals=${intervals};scanned=${rowsScanned};returned=${rowsReturned}`;
}

/** Entities that the filter asks for by both keys, and partitions that it asks for by theirs. */
function namedEntities({ filter }: EntityQueryOptions): readonly EntityName[] {
  return planQuery(filter).intervals.flatMap((interval): EntityName[] => {
    switch (interval.kind) {
      case 'point':
        return [{ partitionKey: interval.partitionKey, rowKey: interval.rowKey }];
      case 'rows':
        return [{ partitionKey: interval.partitionKey }];
      case 'partitions':
        return [];
      default:
        return unreachable(interval);
    }
  });
}

function loadOfPage({ entities }: EntityPage): readonly PartitionLoad[] {
  const counts = new Map<string, number>();
  for (const { partitionKey } of entities) {
    counts.set(partitionKey, (counts.get(partitionKey) ?? 0) + 1);
  }
  return Array.from(counts, ([partitionKey, count]) => ({ partitionKey, count }));
}
