import { tableProperties } from '../../wire/xml/service-properties.js';
import { preflight } from '../cors/preflight.js';
import { routeTo, serviceRouter } from '../operations/route.js';
import { getServiceProperties, setServiceProperties } from '../operations/service-properties.js';
import { getServiceStats } from '../operations/service-stats.js';
import { getSignedIdentifiers, setSignedIdentifiers } from '../operations/signed-identifiers.js';
import { tablePolicies } from './acl.js';
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

const getAcl = getSignedIdentifiers(tablePolicies);
const setAcl = setSignedIdentifiers(tablePolicies);
const setProperties = setServiceProperties(tableProperties);

/** Routed before the others, whatever the path. */
export const tablePreflight: TableRoute = routeTo(
  'PreflightTableRequest',
  { methods: ['OPTIONS'], everywhere: true },
  preflight,
);

/**
 * Every operation of the service (table-service §1.2), the most frequent first. A test
 * compares this table with docs/reference/compatibility.md.
 */
export const tableRoutes: readonly TableRoute[] = [
  getEntityRoute,
  queryEntitiesRoute,
  ...writeRoutes,
  routeTo('EntityGroupTransaction', { methods: ['POST'], resource: 'batch' }, batch),
  routeTo('QueryTables', { methods: ['GET'], resource: 'tables' }, queryTables),
  routeTo('GetTable', { methods: ['GET'], resource: 'table-entry' }, getTable),
  routeTo('CreateTable', { methods: ['POST'], resource: 'tables' }, createTable),
  routeTo('DeleteTable', { methods: ['DELETE'], resource: 'table-entry' }, deleteTable),
  routeTo('GetTableAcl', { methods: ['GET', 'HEAD'], ...acl }, getAcl),
  routeTo('SetTableAcl', { methods: ['PUT'], ...acl }, setAcl),
  routeTo('GetTableServiceProperties', { methods: ['GET'], ...properties }, getServiceProperties),
  routeTo('SetTableServiceProperties', { methods: ['PUT'], ...properties }, setProperties),
  routeTo('GetTableServiceStats', { methods: ['GET'], ...stats }, getServiceStats),
  tablePreflight,
];

/** The operation names in records. */
export const tableOperationNames: readonly string[] = tableRoutes.map(({ name }) => name);

export const tableRouter = serviceRouter(tableRoutes);
