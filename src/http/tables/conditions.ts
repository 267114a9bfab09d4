import { parseIfMatch } from '../../wire/edm/etag.js';
import { StorageError } from '../../model/errors/storage-error.js';
import type { Condition } from '../../services/tables/types.js';
import type { TableRequest } from './request.js';

function invalid(message: string): StorageError {
  return new StorageError('InvalidInput', { message });
}

/**
 * The condition of `If-Match`; undefined when absent. `If-None-Match` does not apply to writes of
 * entities (table-service §2.8).
 */
export function conditionOf(request: TableRequest): Condition | undefined {
  const ifMatch = request.header('if-match');
  if (request.header('if-none-match') !== undefined) {
    throw ifMatch === undefined ? noneMatchRefused(request.method) : bothRefused();
  }
  if (ifMatch === undefined) return undefined;
  const condition = parseIfMatch(ifMatch);
  if (condition !== undefined) return condition;
  throw invalid(
    `The etag value '${ifMatch}' specified in one of the request headers is not valid. ` +
      'Please make sure only one etag value is specified and is valid.',
  );
}

function noneMatchRefused(method: string): StorageError {
  return invalid(`If-None-Match HTTP header cannot be specified for ${method} operations.`);
}

function bothRefused(): StorageError {
  return invalid(
    'Both If-Match and If-None-Match HTTP headers cannot be specified at the same time. ' +
      'Please specify either one of the headers or none of them.',
  );
}

/** A deletion must name a version, if only `*`. */
export function requiredConditionOf(request: TableRequest): Condition {
  const condition = conditionOf(request);
  if (condition !== undefined) return condition;
  if (request.backend.rules.deletesWithoutEtag) return { kind: 'any' };
  throw new StorageError('MissingRequiredHeader');
}
