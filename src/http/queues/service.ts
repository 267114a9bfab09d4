import type { SignedAddress } from '../../wire/auth/sas/string-to-sign-sas.js';
import { StorageError } from '../../model/errors/storage-error.js';
import { corsRulesOf } from '../cors/load-cors-rules.js';
import { preflightOf } from '../cors/preflight.js';
import { storageErrorReply } from '../operations/replies.js';
import { routeOf } from '../operations/route.js';
import type { HttpService } from '../exchange/service.js';
import { QueueRequest, type QueueBackend } from './request.js';
import { parseQueuePath } from './resource.js';
import { queuePreflight, queueRouter } from './routes.js';

/** The queue service as the pipeline uses it. */
export function queueHttpService(backend: QueueBackend): HttpService {
  return {
    name: 'queue',
    signatures: {
      addressOf: ({ resourcePath }) => addressOfPath(resourcePath),
      storedPolicies: (account, queue) => backend.queues.storedPolicies(account, queue),
    },
    verifiesChecksums: true,
    corsRules: corsRulesOf('queue', backend),
    preflight: (exchange) => preflightOf(queuePreflight, backend, exchange),
    requestOf: (exchange) => new QueueRequest(backend, exchange),
    route: (request: QueueRequest) => routeOf(queueRouter, request),
    renderError: (error, exchange) => storageErrorReply(error, exchange),
  };
}

/** Undefined also for an invalid path: routing reports the error. */
function addressOfPath(path: string): SignedAddress | undefined {
  try {
    const resource = parseQueuePath(path);
    return resource.kind === 'service' ? undefined : { container: resource.queue };
  } catch (error) {
    if (error instanceof StorageError) return undefined;
    throw error;
  }
}
