import { invalidHeader } from '../../model/errors/query-errors.js';
import { StorageError } from '../../model/errors/storage-error.js';
import { DelimiterScanner } from './delimiters.js';
import type { BatchHeaders } from './headers.js';
import { MalformedBatchError } from './malformed.js';
import { multipartBoundary } from './media-type.js';
import { PartReader, type BatchOperation } from './part-reader.js';
import { splitTarget, type SplitTarget } from './target.js';

/** Requests in one batch of blobs (blob-service §18). */
export const batchSubrequestsMax = 256;

/** One request of a batch. A batch has those of one kind alone. */
export interface BlobSubrequest {
  readonly kind: 'delete-blob' | 'set-tier';
  readonly method: 'DELETE' | 'PUT';
  /** An absolute path and its query, as sent. */
  readonly target: SplitTarget;
  /** Has the first of several fields with one name. */
  readonly headers: BatchHeaders;
  /** The content id of the part, which its answer repeats. Undefined: the part has none. */
  readonly contentId: string | undefined;
}

/**
 * The requests in the body of a batch, in their order, one or more (blob-service §18). Accepts what
 * batches of tables may have as well: LF for CRLF, blank lines, any inner Content-Length.
 *
 * @throws {StorageError} `InvalidHeaderValue` for another media type or none; `InvalidInput` for a
 * body that is cut off, empty or malformed, another operation, or a Content-ID that comes twice;
 * `ExceedsMaxBatchRequestCount`; `AllBatchSubRequestsShouldBeSameApi`
 */
export function parseBlobBatch(body: Buffer, contentType: string): readonly BlobSubrequest[] {
  const boundary = multipartBoundary(contentType);
  if (boundary === undefined) throw invalidHeader('Content-Type', contentType);
  const reader = new PartReader(body);
  const delimiters = new DelimiterScanner(body, boundary, body.length);
  const requests: BlobSubrequest[] = [];
  let open = delimiters.next(0);
  while (open && !open.closing) {
    const close = delimiters.next(open.next);
    if (!close) throw new MalformedBatchError('cut off before the closing delimiter');
    if (requests.length >= batchSubrequestsMax) {
      throw new StorageError('ExceedsMaxBatchRequestCount');
    }
    requests.push(subrequestOf(reader, open.next, close.at));
    open = close;
  }
  checkTogether(requests);
  return requests;
}

function subrequestOf(reader: PartReader, start: number, end: number): BlobSubrequest {
  const mime = reader.mimeHeaders(start, end);
  const operation = reader.operation(mime.next, end);
  const target = splitTarget(operation.target);
  return {
    ...kindOf(operation, target),
    target,
    headers: operation.headers,
    contentId: mime.headers.get('content-id'),
  };
}

function kindOf(
  { method }: BatchOperation,
  { query }: SplitTarget,
): Pick<BlobSubrequest, 'kind' | 'method'> {
  if (method === 'DELETE') return { kind: 'delete-blob', method };
  if (method === 'PUT' && setsTier.test(query)) return { kind: 'set-tier', method };
  throw new StorageError('InvalidInput', {
    message: 'A batch of blobs holds requests that delete blobs, or that set their tiers.',
  });
}

const setsTier = /(?:^|&)comp=tier(?:&|$)/i;

function checkTogether(requests: readonly BlobSubrequest[]): void {
  const [first] = requests;
  if (first === undefined) throw new MalformedBatchError('no part');
  if (requests.some(({ kind }) => kind !== first.kind)) {
    throw new StorageError('AllBatchSubRequestsShouldBeSameApi');
  }
  const seen = new Set<string>();
  for (const { contentId } of requests) {
    if (contentId === undefined) continue;
    if (seen.has(contentId)) throw new MalformedBatchError('Content-ID twice');
    seen.add(contentId);
  }
}
