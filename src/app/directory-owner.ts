import { ReadWriteLock } from '../base/async/read-write-lock.js';
import { makeAccountDirectory } from '../services/accounts/directory.js';
import { Analytics } from './analytics.js';
import { backendOver, openSharedStore, reclaimSteps, seedBackend } from './backend.js';
import { endpointsOf, type ServerEndpoints } from './endpoints.js';
import { checkInterceptors } from './interceptors.js';
import type { ServerOptions } from './options/table.js';
import type { ServiceName } from '../model/services/services.js';
import { settingsOf } from './settings.js';
import { openData } from './open-data.js';
import { Reclaimer } from './reclaimer.js';
import { stopMetricsMs, stopStepsMs } from './stop-time.js';
import { openCertificates } from './open-certificates.js';

/** The process that a data directory belongs to while workers serve it. */
export interface DirectoryOwner {
  /** The endpoints of workers that listen on these ports. */
  endpoints(ports: Readonly<Record<ServiceName, number>>): ServerEndpoints;
  /** The certificate of the workers, in PEM; undefined without TLS. */
  readonly certificate: string | undefined;
  /** Releases the directory. Its workers must have exited. Idempotent. */
  close(): Promise<void>;
}

/**
 * Opens a data directory for workers (`createWorkerServer`), creates the initial data and does the
 * housekeeping. Serves no requests. Throws as `createServer` does, except for ports, which the
 * workers open.
 */
export async function openDirectoryOwner(options: ServerOptions): Promise<DirectoryOwner> {
  const settings = settingsOf(options);
  makeAccountDirectory(settings.accounts);
  checkInterceptors(options, settings);
  const data = await openData(settings, () => openSharedStore(settings));
  const certificates = await openCertificates(settings, 'exclusive').catch(
    async (error: unknown) => {
      await data.close();
      throw error;
    },
  );
  const backend = backendOver(data, settings);
  await seedBackend(backend, settings).catch(async (error: unknown) => {
    await certificates?.close();
    await data.close();
    throw error;
  });
  const { clock, timers, logger } = settings;
  const reclaimer = new Reclaimer({
    steps: reclaimSteps(backend, data),
    // Other processes have the requests, and wait for the same lock.
    isBusy: () => true,
    clock,
    timers,
    logger,
  });
  const lock = new ReadWriteLock();
  const analytics = new Analytics({
    store: data.store,
    services: backend,
    lock,
    clock,
    timers,
    logger,
  });
  analytics.startAsOwner(() => settings.accounts.map(({ name }) => name));
  let closed: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    await certificates?.close();
    await reclaimer.stop(stopStepsMs - stopMetricsMs);
    await analytics.stop(stopMetricsMs);
    await data.close();
  };
  return {
    endpoints: (ports) => endpointsOf(settings, ports),
    get certificate() {
      return certificates?.certificate;
    },
    close: () => (closed ??= close()),
  };
}
