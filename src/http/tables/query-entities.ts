import { inSlices, type Pieces } from '../../base/async/slice.js';
import { unreachable } from '../../base/invariant.js';
import { encodeToken } from '../../wire/odata/continuation.js';
import type { MetadataLevel } from '../../wire/odata/media-type.js';
import { parseEntityQuery, type EntityQueryOptions } from '../../wire/odata/query-options.js';
import { bytesAtOnceMax, EntityPageBody } from '../../wire/odata/render.js';
import { nullBytes } from '../../wire/odata/selection.js';
import type { EntityRange } from '../../model/edm/entity-range.js';
import { planOnce, type QueryPlan } from '../../services/tables/plan.js';
import type { QueryReport } from '../../model/edm/query-report.js';
import type { EntityPage } from '../../services/tables/types.js';
import { objectAccess } from '../operations/access.js';
import { resourceOf } from '../operations/request.js';
import type { Access } from '../exchange/access.js';
import type { EntityName } from '../exchange/request-load.js';
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

interface Output {
  readonly page: EntityPage;
  /** Holds the entities that were written while they were read. */
  readonly body: EntityPageBody;
}

/** Account signatures for either resource type are accepted (table-service §8.4). */
const queryAccess: Access = { ...objectAccess('read'), orScope: 'container' };

/** `GET /table()` (table-service §3.9). */
export const queryEntities: TableOperation<Input, Output> = {
  access: queryAccess,
  bodyBytesMax: 0,

  parse(request) {
    const { table } = resourceOf(request, 'entities');
    const query = parseEntityQuery(request.query, request.backend.rules.queries);
    const within = rangeOf(request);
    const plan = planOnce(query.filter, within);
    return { level: levelOf(request), table, query, within, plan };
  },

  async run({ level, table, query, within, plan }, request) {
    const { backend, account, exchange } = request;
    const { select, selectText } = query;
    const context = renderContext(request, { table, level, select, selectText });
    // Selected names that a row lacks are returned as null: long lists multiply the answer.
    const rowBytesMin = nullBytes(select ?? []);
    const body = new EntityPageBody(context, rowBytesMin);
    const permitted = {
      ...query,
      ...(within === undefined ? {} : { within }),
      plan,
      rowBytesMin,
      sink: body,
    };
    const page = await backend.tables.queryEntities(account, table, permitted, exchange.memory);
    return { page, body };
  },

  describe: (_input, output) => ({ query: output?.page.report }),
  entities: ({ plan }) => namedEntities(plan()),
  load: ({ page }) => page.partitions,

  render({ page, body }, { level }, request) {
    const replyWith = (bytes: Buffer): Reply => {
      const reply = jsonReply(200, level, bytes);
      for (const [name, value] of continuationHeaders(page)) reply.headers.push(name, value);
      reply.headers.push('x-tabularium-plan', planText(page.report));
      return reply;
    };
    const bytes = body.bytesWith(page.entities);
    if (bytes <= bytesAtOnceMax) return replyWith(body.endWith(page.entities));
    return inTurn(body.endInPieces(page.entities), bytes, request).then(replyWith);
  },
};

/** Renders a long page in slices, when it gets a slot. */
async function inTurn(
  pieces: Pieces<Buffer>,
  bytes: number,
  { exchange, backend }: TableRequest,
): Promise<Buffer> {
  await exchange.memory.enter(bytes);
  return inSlices(pieces, backend.clock);
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

function planText(report: QueryReport): string {
  const { planClass, intervals, rowsScanned, rowsReturned, ranges } = report;
  const text = `class=${planClass};intervals=${intervals};scanned=${rowsScanned};returned=${rowsReturned}`;
  return ranges === undefined ? text : `${text};ranges=${ranges}`;
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
