import { ownerAccess, publicAccess, serviceAccess } from '../operations/access.js';
import { planned, supported } from '../operations/route.js';
import { batch } from './batch.js';
import { createTable } from './create-table.js';
import { deleteTable } from './delete-table.js';
import { getEntityRoute, queryEntitiesRoute, writeRoutes } from './entity-routes.js';
import { getTable } from './get-table.js';
import { queryTables } from './query-tables.js';
import type { TableRoute } from './route.js';

const acl = { resource: 'entities', comp: 'acl' } as const;
const properties = { resource: 'service', restype: 'service', comp: 'properties' } as const;
const stats = { resource: 'service', restype: 'service', comp: 'stats' } as const;

/**
 * Every operation of the service (spec table-service §1.2), the most frequent first. A test
 * compares this table with docs/reference/operations.md.
 */
export const tableRoutes: readonly TableRoute[] = [
  getEntityRoute,
  queryEntitiesRoute,
  ...writeRoutes,
  supported('EntityGroupTransaction', { methods: ['POST'], resource: 'batch' }, batch),
  supported('QueryTables', { methods: ['GET'], resource: 'tables' }, queryTables),
  supported('GetTable', { methods: ['GET'], resource: 'table-entry' }, getTable),
  supported('CreateTable', { methods: ['POST'], resource: 'tables' }, createTable),
  supported('DeleteTable', { methods: ['DELETE'], resource: 'table-entry' }, deleteTable),
  planned('GetTableAcl', { methods: ['GET', 'HEAD'], ...acl }, ownerAccess),
  planned('SetTableAcl', { methods: ['PUT'], ...acl }, ownerAccess),
  planned('GetTableServiceProperties', { methods: ['GET'], ...properties }, serviceAccess('read')),
  planned('SetTableServiceProperties', { methods: ['PUT'], ...properties }, serviceAccess('write')),
  planned('GetTableServiceStats', { methods: ['GET'], ...stats }, serviceAccess('read')),
  planned('PreflightTableRequest', { methods: ['OPTIONS'], resource: 'any' }, publicAccess),
];
