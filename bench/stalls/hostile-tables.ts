import {
  policies,
  preflight,
  properties,
  setProperties,
  tooManyPolicies,
  tooManyRules,
} from './hostile-documents.js';
import { bodyOf, hostileEntityRequests, longFilter } from './hostile-entities.js';
import {
  bodyBytesMax,
  type HostileRequest,
  type PlainRequest,
  type Sender,
} from './hostile-request.js';
import { bigTable } from './world.js';

const service = 'table';
const json = { 'Content-Type': 'application/json' };
/** A name of the greatest length. */
const longName = 'Hostile'.padEnd(63, 'x');
const properlyNamed = `{"TableName":"${longName}"`;

function plain(
  operation: string,
  what: string,
  method: string,
  path: string,
  rest: Pick<HostileRequest, 'body' | 'headers' | 'before' | 'secondary'> & {
    readonly sender?: Sender;
  } = {},
): HostileRequest {
  return { operation, what, service, method, path, ...rest };
}

const create: PlainRequest = {
  service,
  method: 'POST',
  path: '/Tables',
  headers: json,
  body: `${properlyNamed}}`,
};
const drop: PlainRequest = { service, method: 'DELETE', path: `/Tables('${longName}')` };
const letters = 'raud';
const acl = `/${bigTable}?comp=acl`;
const setAcl: PlainRequest = { service, method: 'PUT', path: acl, body: policies(letters) };
const propertiesPath = '/?restype=service&comp=properties';
const setRules = setProperties(service, properties);

/** The most hostile requests known of each operation of tables. */
export const hostileTableRequests: readonly HostileRequest[] = [
  ...hostileEntityRequests,
  plain('QueryTables', '1,000 tables, full metadata', 'GET', '/Tables', {
    headers: { Accept: 'application/json;odata=fullmetadata' },
  }),
  plain(
    'QueryTables',
    'most names in a filter',
    'GET',
    `/Tables${longFilter(' or ', (place) => `TableName eq 't${place}'`)}`,
  ),
  plain('GetTable', 'one', 'GET', `/Tables('${bigTable}')`),
  plain('CreateTable', 'most names in the body', 'POST', '/Tables', {
    headers: json,
    body: bodyOf((place) => `"p${place.toString(36)}":1`),
  }),
  plain('CreateTable', '4 MiB of white space', 'POST', '/Tables', {
    headers: json,
    body: `${properlyNamed}${' '.repeat(bodyBytesMax - 200)}}`,
    before: [drop],
  }),
  plain('DeleteTable', 'the longest name', 'DELETE', drop.path, { before: [create] }),
  plain('DeleteTable', 'a name that none can have', 'DELETE', `/Tables('${'x'.repeat(50_000)}')`),
  plain('GetTableAcl', 'five policies', 'GET', acl, { before: [setAcl] }),
  plain('SetTableAcl', 'five policies in 64 KiB', 'PUT', acl, { body: policies(letters) }),
  plain('SetTableAcl', 'most policies', 'PUT', acl, { body: tooManyPolicies }),
  plain('GetTableServiceProperties', 'most rules', 'GET', propertiesPath, { before: [setRules] }),
  plain('SetTableServiceProperties', 'most rules in 64 KiB', 'PUT', propertiesPath, {
    body: properties,
  }),
  plain('SetTableServiceProperties', 'most elements', 'PUT', propertiesPath, {
    body: tooManyRules,
  }),
  plain('GetTableServiceStats', 'one', 'GET', '/?restype=service&comp=stats', { secondary: true }),
  {
    operation: 'PreflightTableRequest',
    what: 'most headers asked for',
    ...preflight(service, 'x'),
    before: [setRules],
  },
  {
    operation: 'PreflightTableRequest',
    what: 'headers that no rule allows',
    ...preflight(service, 'z'),
    before: [setRules],
  },
];
