import { routeTo, serviceRouter } from '../operations/route.js';
import { deleteEntity } from './delete-entity.js';
import { getEntity } from './get-entity.js';
import { insertEntity } from './insert-entity.js';
import { queryEntities } from './query-entities.js';
import { hasIfMatch, type TableRoute } from './route.js';
import type { WriteEntityOperation } from './write.js';
import { changeEntity, upsertEntity } from './write-entity.js';

const put = { methods: ['PUT'], resource: 'entity' } as const;
const merge = { methods: ['MERGE', 'PATCH'], resource: 'entity' } as const;

/** The writes, alone and in a changeset. With `If-Match`, a write requires an existing entity. */
export const writeRoutes: readonly TableRoute<WriteEntityOperation>[] = [
  routeTo('InsertEntity', { methods: ['POST'], resource: 'entities' }, insertEntity),
  routeTo('UpdateEntity', { ...put, when: hasIfMatch }, changeEntity),
  routeTo('InsertOrReplaceEntity', put, upsertEntity),
  routeTo('MergeEntity', { ...merge, when: hasIfMatch }, changeEntity),
  routeTo('InsertOrMergeEntity', merge, upsertEntity),
  routeTo('DeleteEntity', { methods: ['DELETE'], resource: 'entity' }, deleteEntity),
];

/** Finds the operations of a changeset. */
export const writeRouter = serviceRouter(writeRoutes);

export const getEntityRoute: TableRoute = routeTo(
  'GetEntity',
  { methods: ['GET'], resource: 'entity' },
  getEntity,
);

export const queryEntitiesRoute: TableRoute = routeTo(
  'QueryEntities',
  { methods: ['GET'], resource: 'entities' },
  queryEntities,
);
