import { nextTurn } from '../../base/async/turns.js';
import { formatEtag } from '../../wire/edm/etag.js';
import type { StoredEntity } from '../../model/edm/value.js';
import { parseEntityRead } from '../../wire/odata/query-options.js';
import { bytesAtOnceMax, renderEntity } from '../../wire/odata/render.js';
import type { MetadataLevel } from '../../wire/odata/media-type.js';
import type { Reply } from '../exchange/service.js';
import { objectAccess } from '../operations/access.js';
import { resourceOf } from '../operations/request.js';
import { checkReadable } from './access.js';
import { levelOf } from './format.js';
import type { TableOperation } from './operation.js';
import { jsonReply, renderContext } from './replies.js';
import type { TableRequest } from './request.js';

interface Input {
  readonly level: MetadataLevel;
  readonly table: string;
  readonly partitionKey: string;
  readonly rowKey: string;
  readonly select: readonly string[] | undefined;
  readonly selectText: string | undefined;
}

/** `GET /table(PartitionKey='…',RowKey='…')` (table-service §3.10). */
export const getEntity: TableOperation<Input, StoredEntity> = {
  access: objectAccess('read'),
  bodyBytesMax: 0,

  parse(request) {
    const { table, partitionKey, rowKey } = resourceOf(request, 'entity');
    const level = levelOf(request);
    if (request.query.size === 0) {
      return { level, table, partitionKey, rowKey, select: undefined, selectText: undefined };
    }
    const { select, selectText } = parseEntityRead(request.query);
    return { level, table, partitionKey, rowKey, select, selectText };
  },

  async run({ table, partitionKey, rowKey }, request) {
    checkReadable({ partitionKey, rowKey }, request);
    const { backend, account } = request;
    return await backend.tables.getEntity(account, table, partitionKey, rowKey);
  },

  entities: ({ partitionKey, rowKey }) => [{ partitionKey, rowKey }],
  load: (_entity, { partitionKey }) => [{ partitionKey, count: 1 }],

  render(entity, input, request) {
    if (entity.bag.length <= bytesAtOnceMax) return entityReply(entity, input, request);
    return inTurn(entity, request.exchange).then(() => entityReply(entity, input, request));
  },
};

/**
 * Rendering a large entity takes its own turn, so that those of many clients do not add up in one.
 */
async function inTurn({ bag }: StoredEntity, { memory }: TableRequest['exchange']): Promise<void> {
  memory.hold(bag.length);
  await memory.enter(bag.length);
  await nextTurn();
}

function entityReply(entity: StoredEntity, input: Input, request: TableRequest): Reply {
  const reply = jsonReply(200, input.level, entityJson(entity, input, request));
  reply.headers.push('ETag', formatEtag(entity.version));
  return reply;
}

function entityJson(entity: StoredEntity, input: Input, request: TableRequest): Buffer {
  return renderEntity(entity, renderContext(request, input));
}
