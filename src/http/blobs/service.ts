import type { SignedAddress } from '../../wire/auth/sas/string-to-sign-sas.js';
import { StorageError } from '../../model/errors/storage-error.js';
import { corsRulesOf } from '../cors/load-cors-rules.js';
import { preflightOf } from '../cors/preflight.js';
import { storageErrorReply } from '../operations/replies.js';
import { routeOf } from '../operations/route.js';
import type { Exchange } from '../exchange/exchange.js';
import type { HttpService } from '../exchange/service.js';
import { refuseAbsentFeatures } from './absent-features.js';
import { isAbsent } from './absent-operations.js';
import { refuseImmutability } from './immutability-operations.js';
import { BlobRequest, type BlobBackend } from './request.js';
import { blobPreflight, blobRouter } from './routes.js';
import { refuseStructured } from './structured-operations.js';
import { isForWebsite, webErrorReply, WebsiteRequest, websiteRoute } from './website.js';
import { withoutServiceWrites } from './service-containers.js';

/** The blob service as the pipeline uses it. */
export function blobHttpService(backend: BlobBackend): HttpService {
  return {
    name: 'blob',
    signatures: {
      isForAll: isForWebsite,
      addressOf: (exchange) => addressOf(backend, exchange),
      storedPolicies: (account, container) =>
        backend.blobs.containers.storedPolicies({ account, container }),
      publicLevel: async (account, container) => {
        backend.blobs.containers.checkPublicAccess(account);
        const level = await backend.blobs.containers.publicAccess({ account, container });
        return level === 'none' ? undefined : level;
      },
    },
    verifiesChecksums: true,
    corsRules: corsRulesOf('blob', backend),
    defaultVersion: async (account) =>
      (await backend.properties.get('blob', account)).defaultServiceVersion,
    preflight: (exchange) => preflightOf(blobPreflight, backend, exchange),
    requestOf: (exchange) =>
      isForWebsite(exchange)
        ? new WebsiteRequest(backend, exchange)
        : new BlobRequest(backend, exchange),
    route: (request: BlobRequest | WebsiteRequest) => {
      if (request instanceof WebsiteRequest) return websiteRoute;
      const route = routeOf(blobRouter, request);
      if (!isAbsent(route)) refuseAbsentFeatures(request);
      refuseStructured(route.operation, request);
      refuseImmutability(route.operation, request);
      return withoutServiceWrites(route, request);
    },
    renderError: (error, exchange) =>
      error.code === 'WebContentNotFound'
        ? webErrorReply(error, exchange)
        : storageErrorReply(error, exchange),
  };
}

/** Undefined also for an invalid path: routing reports the error. */
function addressOf(backend: BlobBackend, exchange: Exchange): SignedAddress | undefined {
  try {
    const { container, partitionKey: blob } = new BlobRequest(backend, exchange);
    return container === undefined ? undefined : { container, blob };
  } catch (error) {
    if (error instanceof StorageError) return undefined;
    throw error;
  }
}
