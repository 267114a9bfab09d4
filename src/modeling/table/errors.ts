import { ModelError, TooLargeError, type ModelErrorOptions } from '../rows/model-error.js';

export {
  DecodeError,
  DefinitionError,
  ModelError,
  TooLargeError,
  ValueError,
  type ModelErrorOptions,
  type RequestSummary,
} from '../rows/model-error.js';

/** Details of a failed request. */
export interface ServiceFailure extends ModelErrorOptions {
  /** HTTP status; 0 when no answer came. */
  readonly status: number;
  /** The service's code, such as `ResourceNotFound`; empty when there is none. */
  readonly code: string;
}

/** A request failed at the service or on the way to it. The base of the errors below. */
export class RequestError extends ModelError {
  override readonly name: string = 'RequestError';
  /** HTTP status; 0 when no answer came. */
  readonly status: number;
  readonly code: string;

  constructor(message: string, failure: ServiceFailure) {
    super(message, failure);
    this.status = failure.status;
    this.code = failure.code;
  }

  /**
   * Whether the request may have been applied nevertheless: no response came, or an unreadable one,
   * or the service timed out or failed.
   */
  get isAmbiguous(): boolean {
    return this.status < 400 || this.status === 408 || this.status >= 500;
  }
}

/** 409: an entity with the same keys exists. */
export class EntityExistsError extends RequestError {
  override readonly name = 'EntityExistsError';
}

/** 404: there is no entity with the keys. */
export class EntityNotFoundError extends RequestError {
  override readonly name = 'EntityNotFoundError';
}

/** 404: the table does not exist. */
export class TableNotFoundError extends RequestError {
  override readonly name = 'TableNotFoundError';
}

/** 412: the stored entity has another ETag. */
export class ConditionFailedError extends RequestError {
  override readonly name = 'ConditionFailedError';
}

/**
 * No write of an entity group transaction was applied. `cause` is the error of the operation that
 * failed.
 */
export class TransactionFailedError extends RequestError {
  override readonly name = 'TransactionFailedError';
  /**
   * The operation that failed, from 0 in the order given; undefined when the service did not say.
   */
  readonly index: number | undefined;
  /** What went wrong: an `EntityExistsError`, a `ConditionFailedError` and so on. */
  readonly reason: ModelError;

  constructor(message: string, index: number | undefined, reason: ModelError) {
    super(message, {
      status: reason instanceof RequestError ? reason.status : 400,
      code: reason instanceof RequestError ? reason.code : '',
      cause: reason,
      ...(reason.request === undefined ? {} : { request: reason.request }),
    });
    this.index = index;
    this.reason = reason;
  }
}

/** An `update` conflicted with another writer at every attempt. `cause` is the last refusal. */
export class ContentionError extends ModelError {
  override readonly name = 'ContentionError';
}

/**
 * The lease of a message or a row has ended: another process may hold it now. `cause` is the
 * refusal of a renewal, if there was one.
 */
export class LeaseLostError extends ModelError {
  override readonly name = 'LeaseLostError';
}

/** Whether a failed request may have been applied nevertheless. */
export function isAmbiguous(error: unknown): boolean {
  return error instanceof RequestError && error.isAmbiguous;
}

const tooLargeCodes = new Set([
  'EntityTooLarge',
  'PropertyValueTooLarge',
  'KeyValueTooLarge',
  'TooManyProperties',
  'RequestBodyTooLarge',
]);

/** The error of a refused request, by its status and code. */
export function requestError(message: string, failure: ServiceFailure): ModelError {
  const { status, code } = failure;
  if (code === 'TableNotFound' || code === 'TableBeingDeleted') {
    return new TableNotFoundError(message, failure);
  }
  if (code === 'EntityAlreadyExists') return new EntityExistsError(message, failure);
  if (status === 404) return new EntityNotFoundError(message, failure);
  if (status === 412) return new ConditionFailedError(message, failure);
  if (status === 413 || tooLargeCodes.has(code)) return new TooLargeError(message, failure);
  return new RequestError(message, failure);
}
