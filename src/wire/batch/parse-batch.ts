import { StorageError } from '../../model/errors/storage-error.js';
import { DelimiterScanner } from './delimiters.js';
import { MalformedBatchError } from './malformed.js';
import { multipartBoundary } from './media-type.js';
import { PartReader, type BatchOperation } from './part-reader.js';

/** Operations in one changeset. */
export const batchOperationsMax = 100;

/**
 * A parsed batch. `refused`: the frame is sound, but one operation breaks a rule of batches; the
 * answer is a failed changeset whose one part carries `error`.
 */
export type Batch =
  | { readonly kind: 'changeset'; readonly operations: readonly BatchOperation[] }
  | { readonly kind: 'query'; readonly operation: BatchOperation }
  | {
      readonly kind: 'refused';
      readonly error: StorageError;
      /** The operation that broke a rule. */
      readonly operation: BatchOperation;
    };

/**
 * Parses the body of a batch request (table-service §9.1, §9.2) in linear time. Accepts the
 * variants of known clients: CRLF, LF and both, additional blank lines, headers in any case and
 * order, text around the parts, any inner Content-Length.
 *
 * A batch has one part, either a changeset of 1 to 100 writes or one GET. Further parts make it
 * malformed: the service is documented to execute a first changeset and to reject the others, but
 * no client sends several, and a partial execution is worse than none.
 *
 * @throws {MalformedBatchError} and nothing else.
 */
export function parseBatch(body: Buffer, contentType: string): Batch {
  const boundary = multipartBoundary(contentType);
  if (boundary === undefined) throw new MalformedBatchError('no boundary');
  const reader = new PartReader(body);
  const delimiters = new DelimiterScanner(body, boundary, body.length);
  const open = delimiters.next(0);
  if (!open || open.closing) throw new MalformedBatchError('no part');
  const close = delimiters.next(open.next);
  if (!close) throw new MalformedBatchError('cut off before the closing delimiter');
  if (!close.closing) throw new MalformedBatchError('several parts');
  return parsePart(reader, body, { start: open.next, end: close.at });
}

function parsePart(
  reader: PartReader,
  body: Buffer,
  { start, end }: { readonly start: number; readonly end: number },
): Batch {
  const mime = reader.mimeHeaders(start, end);
  const contentType = mime.headers.get('content-type') ?? '';
  if (!contentType.toLowerCase().startsWith('multipart/')) {
    return parseQuery(reader.operation(start, end));
  }
  const boundary = multipartBoundary(contentType);
  if (boundary === undefined) throw new MalformedBatchError('changeset without a boundary');
  return parseChangeset(reader, new DelimiterScanner(body, boundary, end), mime.next);
}

function parseQuery(operation: BatchOperation): Batch {
  if (!isQuery(operation)) throw new MalformedBatchError('write outside a changeset');
  return { kind: 'query', operation };
}

function parseChangeset(reader: PartReader, delimiters: DelimiterScanner, start: number): Batch {
  const operations: BatchOperation[] = [];
  let open = delimiters.next(start);
  while (open && !open.closing) {
    const close = delimiters.next(open.next);
    if (!close) throw new MalformedBatchError('changeset cut off');
    const operation = reader.operation(open.next, close.at);
    const error = refusal(operation, operations.length);
    if (error) return { kind: 'refused', error, operation };
    operations.push(operation);
    open = close;
  }
  if (operations.length === 0) throw new MalformedBatchError('empty changeset');
  return { kind: 'changeset', operations };
}

/** Why the operation at `index` is not allowed in a changeset. */
function refusal(operation: BatchOperation, index: number): StorageError | undefined {
  if (index >= batchOperationsMax) {
    return new StorageError('InvalidInput', {
      message: 'The batch request operation exceeds the maximum 100 changes per change set.',
      operationIndex: batchOperationsMax - 1,
      noCache: true,
    });
  }
  return isQuery(operation)
    ? new StorageError('InvalidInput', { operationIndex: index })
    : undefined;
}

function isQuery(operation: BatchOperation): boolean {
  if (operation.method === 'GET') return true;
  return (
    operation.method === 'POST' &&
    operation.headers.get('x-http-method')?.trim().toUpperCase() === 'GET'
  );
}
