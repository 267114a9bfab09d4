import { unreachable } from '../../base/invariant.js';
import { StorageError } from '../../model/errors/storage-error.js';
import { decodeOnce } from '../../wire/http/percent.js';
import {
  parseResourcePath,
  pathSegments,
  resourceOfSegments,
  type Resource,
} from '../../wire/odata/resource.js';
import { isTableName } from '../../services/tables/table-name.js';

const tunnelled: ReadonlySet<string> = new Set(['GET', 'PUT', 'MERGE', 'PATCH', 'DELETE']);

/**
 * The effective method of a request: POST can carry another one in `X-HTTP-Method`, for networks
 * that only let common methods through (table-service §3.2, §3.4).
 */
export function effectiveMethod(method: string, override: string | undefined): string {
  if (override === undefined) return method;
  if (override.includes(',')) throw new StorageError('XMethodIncorrectCount');
  if (method !== 'POST') throw new StorageError('XMethodNotUsingPost');
  const wanted = override.trim().toUpperCase();
  if (!tunnelled.has(wanted)) throw new StorageError('XMethodIncorrectValue');
  return wanted;
}

/** A name with one key, such as `Tables('people')`. */
const keyed = /^([^(]+)\('.*'\)$/;

/**
 * The resource of an HTTP request, from its path after the account as sent. Throws as
 * `parseResourcePath` does.
 *
 * A client whose account URL ends in a table's name addresses resources below the table. The
 * service treats that as an insert into the table, or refuses it in its own way. Paths inside of
 * batches do not begin with an account URL and are not treated so.
 */
export function parseRequestPath(path: string, method: string): Resource {
  const segments = pathSegments(path);
  const [table = '', below] = segments;
  if (below === undefined || segments.length > 2 || !isTableName(table)) {
    return resourceOfSegments(segments);
  }
  if (method === 'POST') return parseResourcePath(table);
  if (method === 'GET') throw new StorageError('NotImplemented');
  const [, name] = keyed.exec(decodeOnce(below)) ?? [];
  return name === undefined ? resourceOfSegments(segments) : refuseKeyCount(name);
}

function refuseKeyCount(name: string): never {
  throw new StorageError('InvalidInput', {
    message: `The number of keys specified in the URI does not match number of key properties for the resource '${name}'.`,
  });
}

/** The addressed table, as spelled in the request. */
export function tableOf(resource: Resource): string | undefined {
  switch (resource.kind) {
    case 'entity':
    case 'entities':
      return resource.table;
    case 'table-entry':
      return resource.name;
    case 'service':
    case 'tables':
    case 'batch':
      return undefined;
    default:
      return unreachable(resource);
  }
}
