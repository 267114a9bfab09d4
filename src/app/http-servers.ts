import type { ReadWriteLock } from '../base/async/read-write-lock.js';
import { openFilesMax } from '../base/open-files.js';
import { healthEndpoint, type Health } from '../http/admin/health.js';
import { blobHttpService } from '../http/blobs/service.js';
import type { HttpService } from '../http/exchange/service.js';
import { ApiVersionPolicy } from '../http/pipeline/api-version-policy.js';
import { ConnectionSlots, slotsWithin } from '../http/pipeline/connection-slots.js';
import { HeldMemory } from '../http/pipeline/held-memory.js';
import { PublicKeyGuard } from '../http/pipeline/public-key-guard.js';
import { HttpServer, type HttpServerOptions } from '../http/pipeline/server.js';
import { queueHttpService } from '../http/queues/service.js';
import { SourceClient } from '../http/sources/source-client.js';
import { tableHttpService } from '../http/tables/service.js';
import { byService, type ServiceName } from '../model/services/services.js';
import type { CurrentAccounts } from '../services/accounts/directory.js';
import { backendOver, type Backend } from './backend.js';
import type { Interceptors } from './interceptors.js';
import type { LowSpaceGuards } from './low-space.js';
import type { OpenBearerVerifier } from './oauth/open-bearer-verifier.js';
import type { OpenData } from './open-data.js';
import type { RenewableBackend } from './renewable-backend.js';
import { withSecondary, type SecondaryStore } from './secondary.js';
import type { ServerSettings } from './settings.js';
import { storeFailure } from './store-failure.js';
import type { Certificates } from './tls/certificates.js';

type ServedBackend = Parameters<typeof tableHttpService>[0] &
  Parameters<typeof queueHttpService>[0] &
  Parameters<typeof blobHttpService>[0];

export type Standby = Backend & Pick<ServedBackend, 'synchrony'>;

export interface HttpServerParts {
  readonly accounts: CurrentAccounts;
  readonly certificates: Certificates | undefined;
  readonly bearer: OpenBearerVerifier | undefined;
  readonly interceptors: Interceptors;
  readonly lowSpaceGuards: LowSpaceGuards;
  /** Work holds it for reading. */
  readonly lock: ReadWriteLock;
  readonly backend: RenewableBackend;
  readonly standby: Standby | undefined;
  health(): Promise<Health>;
}

/** The services of the secondary endpoints when they read standbys. */
export function standbyOver(
  store: SecondaryStore,
  { settings, content }: Pick<OpenData, 'content'> & { readonly settings: ServerSettings },
): Standby {
  return { ...backendOver({ store, content }, settings), synchrony: () => store.synchrony() };
}

/** A server for each service, none of which listens yet. All share one bound of memory. */
export function httpServersOf(
  settings: ServerSettings,
  parts: HttpServerParts,
): Readonly<Record<ServiceName, HttpServer>> {
  const { accounts, bearer, certificates, interceptors, lock, lowSpaceGuards } = parts;
  const { clock, randomness, timers, logger, checkClockSkew, strictness, listeners } = settings;
  const { rules, strictApiVersions } = strictness;
  const shared = {
    accounts,
    endpoints: [healthEndpoint(() => parts.health())],
    observers: interceptors.observers,
    failureOf: storeFailure,
    lock,
    clock,
    randomness,
    timers,
    memory: new HeldMemory({ clock, logger }),
    slots: new ConnectionSlots(slotsWithin(openFilesMax())),
    logger,
    tls: certificates,
    versions: new ApiVersionPolicy({ strict: strictApiVersions, logger }),
    publicKeyGuard: new PublicKeyGuard(settings.allowedHosts),
    checkClockSkew,
    credentialRules: rules.credentials,
    bearer: bearer?.verifier,
  } satisfies Omit<HttpServerOptions, 'service' | 'limits' | 'interceptors'>;
  const services = httpServicesOf(settings, parts);
  return byService((name) => {
    return new HttpServer({
      ...shared,
      service: services[name],
      interceptors: [...lowSpaceGuards.of(name), ...interceptors.list],
      limits: listeners[name].limits,
    });
  });
}

function httpServicesOf(
  settings: ServerSettings,
  { backend, standby }: Pick<HttpServerParts, 'backend' | 'standby'>,
): Readonly<Record<ServiceName, HttpService>> {
  const { clock, randomness, timers, copySources, blockBytesMax } = settings;
  const { rules } = settings.strictness;
  const sources =
    copySources && new SourceClient({ rules: copySources, clock, timers, randomness });
  const shared = { clock, randomness, rules, sources, blockBytesMax };
  const make = { table: tableHttpService, queue: queueHttpService, blob: blobHttpService };
  const [ahead, behind] = [backend.with(shared), standby && { ...standby, ...shared }];
  return byService((name) => withSecondary(make[name](ahead), behind && make[name](behind)));
}
