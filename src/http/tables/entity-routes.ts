import { deleteEntity } from './delete-entity.js';
import { getEntity } from './get-entity.js';
import { insertEntity } from './insert-entity.js';
import { queryEntities } from './query-entities.js';
import { supported, type TableRoute } from './route.js';
import type { WriteEntityOperation } from './write.js';
import { changeEntity, upsertEntity } from './write-entity.js';

const put = { methods: ['PUT'], resource: 'entity' } as const;
const merge = { methods: ['MERGE', 'PATCH'], resource: 'entity' } as const;

/** What may stand alone and in a changeset. */
export const writeRoutes: readonly TableRoute<WriteEntityOperation>[] = [
  supported('InsertEntity', { methods: ['POST'], resource: 'entities' }, insertEntity),
  supported('UpdateEntity', { ...put, ifMatch: true }, changeEntity),
  supported('InsertOrReplaceEntity', { ...put, ifMatch: false }, upsertEntity),
  supported('MergeEntity', { ...merge, ifMatch: true }, changeEntity),
  supported('InsertOrMergeEntity', { ...merge, ifMatch: false }, upsertEntity),
  supported('DeleteEntity', { methods: ['DELETE'], resource: 'entity' }, deleteEntity),
];

export const getEntityRoute: TableRoute = supported(
  'GetEntity',
  { methods: ['GET'], resource: 'entity' },
  getEntity,
);

export const queryEntitiesRoute: TableRoute = supported(
  'QueryEntities',
  { methods: ['GET'], resource: 'entities' },
  queryEntities,
);
