import type { BatchOperation } from '../../wire/batch/part-reader.js';
import type { BatchOutcome } from '../../wire/batch/render.js';
import { StorageError } from '../../model/errors/storage-error.js';
import type { Description } from '../exchange/description.js';
import type { Reply } from '../exchange/service.js';
import { serviceRouter } from '../operations/route.js';
import { authorisePart } from './access.js';
import { BatchRequest } from './batch-request.js';
import { getEntityRoute, queryEntitiesRoute } from './entity-routes.js';
import { errorLevelOf, levelOf } from './format.js';
import type { TableRequest } from './request.js';
import type { TableOperation } from './operation.js';
import { tableRouteOf, type RoutedTableRequest } from './route.js';

const queryRouter = serviceRouter<RoutedTableRequest, TableOperation>([
  getEntityRoute,
  queryEntitiesRoute,
]);

/** The one query of a batch without a changeset (table-service §9.4). */
export async function runBatchQuery(
  part: BatchOperation,
  outer: TableRequest,
): Promise<{ readonly outcome: BatchOutcome; readonly query: Description }> {
  const { contentId } = part;
  let query: Description = {};
  try {
    const request = new BatchRequest(outer, part);
    const { operation } = tableRouteOf(queryRouter, request);
    authorisePart(operation, request);
    const { resource } = request;
    if (resource.kind === 'entity') query = { partitionKey: resource.partitionKey };
    const input = operation.parse(request);
    const output = await operation.run(input, request);
    query = { ...query, ...operation.describe?.(input, output) };
    const reply = await operation.render(output, input, request);
    return { outcome: found(reply, request, contentId), query };
  } catch (error) {
    if (!(error instanceof StorageError) || error.status >= 500) throw error;
    const level = errorLevelOf(part.headers.get('accept'), undefined, outer.backend.rules);
    return { outcome: { kind: 'query-failed', error, contentId, level }, query };
  }
}

/** Headers that the batch response writes itself. */
const framed: ReadonlySet<string> = new Set([
  'Cache-Control',
  'X-Content-Type-Options',
  'Content-Type',
  'ETag',
]);

function found(
  { headers, body }: Reply,
  request: TableRequest,
  contentId: string | undefined,
): BatchOutcome {
  const pairs: [name: string, value: string][] = [];
  for (let at = 0; at < headers.length; at += 2) {
    pairs.push([headers[at] ?? '', headers[at + 1] ?? '']);
  }
  return {
    kind: 'found',
    contentId,
    level: levelOf(request),
    etag: pairs.find(([name]) => name === 'ETag')?.[1],
    headers: pairs.filter(([name]) => !framed.has(name)),
    body: body ?? Buffer.alloc(0),
  };
}
