import type { RequestSummary } from '../rows/model-error.js';
import { placeOfKey } from '../rows/row-parts.js';
import type { RowKey } from '../rows/row.js';
import {
  ConditionFailedError,
  EntityExistsError,
  EntityNotFoundError,
  type ServiceFailure,
} from './errors.js';

// Errors that the service would answer with, raised by the library when a read has shown them.
// `what` names the type of a definition, or another kind of row.

/** The error for a required entity that a read did not find. */
export function absentEntityError(
  what: string,
  key: RowKey,
  request?: RequestSummary,
): EntityNotFoundError {
  const text = `${what}: there is no entity ${placeOfKey(key)}`;
  return new EntityNotFoundError(text, failureOf(404, 'ResourceNotFound', request));
}

/** The error for an entity that a read found at keys that are to be free. */
export function existingEntityError(
  what: string,
  key: RowKey,
  request?: RequestSummary,
): EntityExistsError {
  const text = `${what}: there is an entity ${placeOfKey(key)} already`;
  return new EntityExistsError(text, failureOf(409, 'EntityAlreadyExists', request));
}

/** The error for an entity that a read found with another ETag. */
export function changedEntityError(
  what: string,
  key: RowKey,
  request?: RequestSummary,
): ConditionFailedError {
  const text = `${what}: ${placeOfKey(key)} has changed since it was read`;
  return new ConditionFailedError(text, failureOf(412, 'UpdateConditionNotSatisfied', request));
}

function failureOf(status: number, code: string, request?: RequestSummary): ServiceFailure {
  return { status, code, ...(request === undefined ? {} : { request }) };
}
