import { invariant } from '../../base/invariant.js';
import { formatEtag } from '../../wire/edm/etag.js';
import { StorageError } from '../../model/errors/storage-error.js';
import { renderEntity } from '../../wire/odata/render.js';
import { entityPath } from '../../wire/odata/resource.js';
import { keysOf } from '../../services/tables/staged-write.js';
import type { WriteResult } from '../../services/tables/types.js';
import { objectAccess } from '../operations/access.js';
import { resourceOf } from '../operations/request.js';
import type { Reply } from '../exchange/service.js';
import { levelOf, requireJsonBody, preferenceOf } from './format.js';
import { bodyBytesMax } from './operation.js';
import { locationHeaders, jsonReply, noContentReply, renderContext } from './replies.js';
import type { TableRequest } from './request.js';
import {
  entityBodyOf,
  oneEntity,
  parsedBy,
  runWrite,
  type WriteEntityOperation,
  type WriteInput,
} from './write.js';

/** `POST /table` (table-service §3.11). */
export const insertEntity: WriteEntityOperation = {
  access: objectAccess('add'),
  bodyBytesMax,

  ...parsedBy((request) => {
    const { table } = resourceOf(request, 'entities');
    const preference = preferenceOf(request.header('prefer'));
    const level = preference === 'return-no-content' ? undefined : levelOf(request);
    requireJsonBody(request);
    const rules = request.backend.rules.properties;
    return (body) => {
      const { partitionKey, rowKey, properties } = entityBodyOf(body, rules, 'body');
      if (partitionKey === undefined || rowKey === undefined) {
        throw new StorageError('PropertiesNeedValue');
      }
      const entity = { partitionKey, rowKey, properties };
      return { table, operation: { kind: 'insert', entity }, preference, level };
    };
  }),

  describe: ({ operation }) => ({ partitionKey: keysOf(operation).partitionKey }),
  run: runWrite,
  ...oneEntity,

  render(result, input, request) {
    const reply = created(result, input, request);
    if (input.preference !== undefined) reply.headers.push('Preference-Applied', input.preference);
    return reply;
  },
};

function created(result: WriteResult, input: WriteInput, request: TableRequest): Reply {
  invariant(result !== undefined, 'an insert leaves an entity');
  const location = locationOf(input, request);
  const etag = formatEtag(result.version);
  if (input.level === undefined) {
    const reply = noContentReply();
    reply.headers.push('ETag', etag, ...locationHeaders(location, 'with-id'));
    return reply;
  }
  const context = renderContext(request, { table: input.table, level: input.level });
  const reply = jsonReply(201, input.level, renderEntity(result, context));
  reply.headers.push('ETag', etag, ...locationHeaders(location, 'alone'));
  return reply;
}

/** The address of an inserted entity, without a query string, which could contain a signature. */
export function locationOf({ table, operation }: WriteInput, { exchange }: TableRequest): string {
  invariant(operation.kind === 'insert', 'only inserts have a location');
  const { partitionKey, rowKey } = operation.entity;
  return `${exchange.base}/${entityPath(table, partitionKey, rowKey)}`;
}
