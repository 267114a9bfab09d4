import { inSlices, type Pieces } from '../../base/async/slice.js';
import { unreachable } from '../../base/invariant.js';
import { encodeToken } from '../../wire/odata/continuation.js';
import type { MetadataLevel } from '../../wire/odata/media-type.js';
import { parseEntityQuery, type EntityQueryOptions } from '../../wire/odata/query-options.js';
import {
  bytesAtOnceMax,
  entitiesInPieces,
  pageBytes,
  renderEntities,
} from '../../wire/odata/render.js';
import { nullBytes } from '../../wire/odata/selection.js';
import type { EntityRange } from '../../model/edm/entity-range.js';
import { planOnce, type QueryPlan } from '../../services/tables/plan.js';
import type { QueryReport } from '../../model/edm/query-report.js';
import type { EntityPage } from '../../services/tables/types.js';
import { objectAccess } from '../operations/access.js';
import { resourceOf } from '../operations/request.js';
import type { Access } from '../exchange/access.js';
import type { EntityName, PartitionLoad } from '../exchange/request-load.js';
import type { Reply } from '../exchange/service.js';
import { rangeOf } from './access.js';
import { levelOf } from './format.js';
import type { TableOperation } from './operation.js';
import type { TableRequest } from './request.js';
import { jsonReply, renderContext } from './replies.js';

interface Input {
  readonly level: MetadataLevel;
  readonly table: string;
  readonly query: EntityQueryOptions;
  /** The key range of the credential; undefined: all keys. */
  readonly within: EntityRange | undefined;
  readonly plan: () => QueryPlan;
}

/** Account signatures for either resource type are accepted (table-service §8.4). */
const queryAccess: Access = { ...objectAccess('read'), orScope: 'container' };

/** `GET /table()` (table-service §3.9). */
export const queryEntities: TableOperation<Input, EntityPage> = {
  access: queryAccess,
  bodyBytesMax: 0,

  parse(request) {
    const { table } = resourceOf(request, 'entities');
    const query = parseEntityQuery(request.query, request.backend.rules.queries);
    const within = rangeOf(request);
    const plan = planOnce(query.filter, within);
    return { level: levelOf(request), table, query, within, plan };
  },

  run({ table, query, within, plan }, request) {
    const { backend, account, exchange } = request;
    const permitted = {
      ...query,
      ...(within === undefined ? {} : { within }),
      plan,
      // Selected names that a row lacks are returned as null: long lists multiply the answer.
      rowBytesMin: nullBytes(query.select ?? []),
    };
    return backend.tables.queryEntities(account, table, permitted, exchange.memory);
  },

  describe: (_input, page) => ({ query: page?.report }),
  entities: ({ plan }) => namedEntities(plan()),
  load: loadOfPage,

  render(page, { level, table, query }, request) {
    const { select, selectText } = query;
    const context = renderContext(request, { table, level, select, selectText });
    const replyWith = (bytes: Buffer): Reply => {
      const reply = jsonReply(200, level, bytes);
      for (const [name, value] of continuationHeaders(page)) reply.headers.push(name, value);
      reply.headers.push('x-tabularium-plan', planText(page.report));
      return reply;
    };
    // Selected names that no row has count as well: each entity has them as null.
    const bytes = pageBytes(page.entities) + page.entities.length * nullBytes(select ?? []);
    if (bytes <= bytesAtOnceMax) return replyWith(renderEntities(page.entities, context));
    const body = entitiesInPieces(page.entities, context);
    return inTurn(body, bytes, request).then(replyWith);
  },
};

/** Renders a long page in slices, when it gets a slot. */
async function inTurn(
  body: Pieces<Buffer>,
  bytes: number,
  { exchange, backend }: TableRequest,
): Promise<Buffer> {
  await exchange.memory.enter(bytes);
  return inSlices(body, backend.clock);
}

/** The position of the next page. Without a row key: the beginning of the partition. */
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

/** The entities that the filter names by both keys, and the partitions that it names by key. */
function namedEntities({ intervals }: QueryPlan): readonly EntityName[] {
  return intervals.flatMap((interval): EntityName[] => {
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

/** Entities are in key order, so those of a partition are neighbours. */
function loadOfPage({ entities }: EntityPage): readonly PartitionLoad[] {
  const loads: PartitionLoad[] = [];
  let first = 0;
  for (let at = 1; at <= entities.length; at += 1) {
    const partitionKey = entities[first]?.partitionKey ?? '';
    if (entities[at]?.partitionKey === partitionKey) continue;
    loads.push({ partitionKey, count: at - first });
    first = at;
  }
  return loads;
}
