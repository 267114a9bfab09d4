import { STATUS_CODES } from 'node:http';
import { concurrentlyInOrder } from '../../base/async/concurrently.js';
import { invariant } from '../../base/invariant.js';
import { StorageError } from '../../model/errors/storage-error.js';
import { parseBlobBatch, type BlobSubrequest } from '../../wire/batch/blob-batch.js';
import { renderBlobBatch, type BlobBatchPart } from '../../wire/batch/blob-batch-response.js';
import { parseBlobPath } from '../../wire/blobs/resource-path.js';
import { authoriseExchange } from '../pipeline/authorise.js';
import type { Exchange } from '../exchange/exchange.js';
import { authenticatedPart, failureOfPart, resourcePathOf } from '../exchange/part-exchange.js';
import type { PartitionLoad } from '../exchange/request-load.js';
import type { Reply } from '../exchange/service.js';
import { storageErrorReply } from '../operations/replies.js';
import { routeTo } from '../operations/route.js';
import type { BlobRoute } from './blob-route.js';
import {
  deleteBlob,
  deleteBlobPermanently,
  deleteBlobVersion,
  isPermanent,
  namesVersion,
} from './delete-blob.js';
import { BlobRequest, type BlobOperation } from './request.js';
import { withoutServiceWrites } from './service-containers.js';
import { setBlobTier } from './set-blob-tier.js';

/** The longest body of a batch (blob-service §18). */
const bodyBytesMax = 4 * 1024 * 1024;
/** Requests of a batch that are processed at the same time. */
const subrequestsAtOnceMax = 8;

type Kind = BlobSubrequest['kind'];

const routes: Readonly<Record<Kind, BlobRoute>> = {
  'delete-blob': routeTo('DeleteBlob', { methods: ['DELETE'], resource: 'blob' }, deleteBlob),
  'set-tier': routeTo('SetBlobTier', { methods: ['PUT'], resource: 'blob' }, setBlobTier),
};

const ofBlob = { methods: ['DELETE'], resource: 'blob' } as const;
const permanentDeletion: BlobRoute = routeTo('DeleteBlob', ofBlob, deleteBlobPermanently);
const versionDeletion: BlobRoute = routeTo('DeleteBlob', ofBlob, deleteBlobVersion);

function routeOf(kind: Kind, request: BlobRequest): BlobRoute {
  if (kind !== 'delete-blob') return routes[kind];
  if (isPermanent(request)) return permanentDeletion;
  return namesVersion(request) ? versionDeletion : routes[kind];
}

interface Input {
  readonly requests: readonly BlobSubrequest[];
  /** The blobs that the requests name, each as often as it is named. */
  readonly named: readonly PartitionLoad[];
}

/** The outcome of one request. */
interface Outcome {
  readonly contentId: string | undefined;
  readonly reply: Reply;
}

/**
 * `POST /?comp=batch`, or `POST /container?restype=container&comp=batch` for blobs of one container
 * (blob-service §18). Each request has a credential of its own, and succeeds or fails by itself, in
 * any order; the answers are in the order of the requests.
 */
export const blobBatch: BlobOperation<Input, readonly Outcome[]> = {
  access: { kind: 'credential', byToken: true },
  bodyBytesMax,
  // Two minutes (blob-service §3.1).
  timeLimits: 4,

  parse({ exchange, header }) {
    const requests = parseBlobBatch(exchange.body, header('content-type') ?? '');
    return { requests, named: requests.flatMap((request) => loadOf(request, exchange)) };
  },

  isReadOnly: () => false,

  describe({ requests }) {
    return { operationCount: requests.length };
  },

  entities: ({ named }) => named,
  addressedLoad: ({ named }) => named,

  async run({ requests }, outer) {
    const outcomes: Outcome[] = [];
    const answers = new PartAnswers(outer);
    const answered = concurrentlyInOrder(requests, subrequestsAtOnceMax, (request) =>
      answers.answer(request),
    );
    for await (const outcome of answered) outcomes.push(outcome);
    return outcomes;
  },

  render(outcomes, _input, { exchange, backend }) {
    const parts = outcomes.map((outcome) => partOf(outcome, exchange));
    const { contentType, body } = renderBlobBatch(parts, backend.randomness);
    return { status: 202, headers: ['Content-Type', contentType], body };
  },
};

/** A request counts for the blob that it names, as by itself; one that names none is refused. */
function loadOf({ target }: BlobSubrequest, exchange: Exchange): readonly PartitionLoad[] {
  try {
    const resource = parseBlobPath(resourcePathOf(exchange, target.path), false);
    if (resource.kind !== 'blob') return [];
    return [{ container: resource.container, partitionKey: resource.blob, count: 1 }];
  } catch (error) {
    if (error instanceof StorageError) return [];
    throw error;
  }
}

/**
 * Answers the requests of one batch. When the store fails one of them, others may be complete
 * already. So this request and those that have not begun get the failure, because the store would
 * fail them as well. An unexpected error only fails its own request.
 */
class PartAnswers {
  readonly #outer: BlobRequest;
  #failure: StorageError | undefined;

  constructor(outer: BlobRequest) {
    this.#outer = outer;
  }

  async answer(request: BlobSubrequest): Promise<Outcome> {
    const { contentId } = request;
    const { exchange } = this.#outer;
    try {
      if (this.#failure !== undefined) throw this.#failure;
      return { contentId, reply: await replyTo(request, this.#outer) };
    } catch (error) {
      const failure = failureOfPart(exchange, error);
      if (failure.isOfStore) this.#failure = failure.error;
      return { contentId, reply: refusal(failure.error, exchange) };
    }
  }
}

function refusal(failure: StorageError, exchange: Exchange): Reply {
  const { headers, ...reply } = storageErrorReply(failure, exchange);
  const { retryAfterSeconds: seconds } = failure;
  if (seconds === undefined) return { ...reply, headers };
  return { ...reply, headers: [...headers, 'Retry-After', String(seconds)] };
}

/** Runs the stages that a request by itself goes through. */
async function replyTo(subrequest: BlobSubrequest, outer: BlobRequest): Promise<Reply> {
  const exchange = await authenticatedPart(outer.exchange, subrequest);
  const request = new BlobRequest(outer.backend, exchange);
  const isInside = outer.container === undefined || outer.container === request.container;
  if (request.resource.kind !== 'blob' || !isInside) {
    throw new StorageError('InvalidInput', {
      message: 'A request of a batch names a blob, in the container of the batch if it has one.',
    });
  }
  const { name, operation } = withoutServiceWrites(routeOf(subrequest.kind, request), request);
  authoriseExchange(exchange, { name, operation, request });
  const input = operation.parse(request);
  const reply = await operation.render(await operation.run(input, request), input, request);
  invariant(reply.stream === undefined, 'requests of a batch have whole answers');
  return reply;
}

function partOf({ contentId, reply }: Outcome, { requestId, version }: Exchange): BlobBatchPart {
  const { status, reason = STATUS_CODES[status] ?? '', headers, body } = reply;
  const fields: (readonly [string, string])[] = [
    ['x-ms-request-id', requestId],
    ['x-ms-version', version],
  ];
  for (let at = 0; at + 1 < headers.length; at += 2) {
    fields.push([headers[at] ?? '', headers[at + 1] ?? '']);
  }
  if (body === undefined) return { contentId, status, reason, headers: fields };
  fields.push(['Content-Length', String(body.length)]);
  return { contentId, status, reason, headers: fields, body };
}
