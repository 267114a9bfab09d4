import { ModelError, type RequestSummary } from '../rows/model-error.js';
import { isAmbiguous, requestError, TransactionFailedError } from './errors.js';

/** The parts of the official clients' errors that are read here. Their classes are not imported. */
interface RestErrorLike {
  readonly message?: unknown;
  readonly statusCode?: unknown;
  readonly code?: unknown;
  readonly details?: unknown;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

/** HTTP status of a client's error; 0 when no answer came. */
export function statusOf(error: unknown): number {
  const { statusCode } = isObject(error) ? (error as RestErrorLike) : {};
  return typeof statusCode === 'number' ? statusCode : 0;
}

function codeOf(error: unknown): string {
  if (!isObject(error)) return '';
  const { details, code } = error as RestErrorLike;
  const inner = isObject(details) ? details['odataError'] : undefined;
  if (isObject(inner) && typeof inner['code'] === 'string') return inner['code'];
  return typeof code === 'string' ? code : '';
}

function messageOf(error: unknown): string {
  if (!isObject(error)) return String(error);
  const { details, message } = error as RestErrorLike;
  const inner = isObject(details) ? details['odataError'] : undefined;
  const told = isObject(inner) && isObject(inner['message']) ? inner['message']['value'] : message;
  return String(told).split('\n', 1)[0] ?? '';
}

function textOf({ operation, table, partitionKey, rowKey, filter }: RequestSummary): string {
  const keys = [partitionKey, rowKey].filter((key) => key !== undefined);
  const where = keys.length === 0 ? '' : ` (${keys.map((key) => `'${key}'`).join(', ')})`;
  return `${operation} in ${table}${where}${filter === undefined ? '' : ` where ${filter}`}`;
}

/** Whether an error comes from sending. All others happen before anything is sent. */
function isOfTransport(error: unknown): boolean {
  if (!isObject(error)) return false;
  return error['name'] === 'RestError' || error['name'] === 'AbortError' || 'code' in error;
}

/** The typed error for a client's error, which becomes its `cause`. */
export function fromSdkError(error: unknown, request: RequestSummary): ModelError {
  if (error instanceof ModelError) return error;
  const status = statusOf(error);
  const code = codeOf(error);
  if (status === 0 && !isOfTransport(error)) {
    return new ModelError(`${textOf(request)}: ${messageOf(error)}`, { cause: error, request });
  }
  const message = `${textOf(request)}: ${status === 0 ? 'no answer' : `${status} ${code}`}, ${messageOf(error)}`;
  return requestError(message, { status, code, cause: error, request });
}

/**
 * As `fromSdkError`, for a transaction with writes of the rows with these RowKeys. The service puts
 * the index of the operation in front of its message, and may omit it when there is only one. The
 * error names the row of that operation.
 */
export function fromTransactionError(
  error: unknown,
  request: RequestSummary,
  rowKeys: readonly string[],
): ModelError {
  const index = /^(\d+):/.exec(messageOf(error))?.[1];
  const only = rowKeys.length === 1 ? 0 : undefined;
  const position = index === undefined ? only : Number(index);
  // Either the outcome is unknown or nothing was sent: no operation failed.
  if (statusOf(error) === 0) return fromSdkError(error, request);
  const rowKey = position === undefined ? undefined : rowKeys[position];
  const reason = fromSdkError(error, rowKey === undefined ? request : { ...request, rowKey });
  if (isAmbiguous(reason)) return reason;
  const where = position === undefined ? 'An operation' : `Operation ${position}`;
  return new TransactionFailedError(`${where} failed: ${reason.message}`, position, reason);
}
