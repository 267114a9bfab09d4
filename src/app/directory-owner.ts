import { makeAccountDirectory } from '../services/accounts/directory.js';
import { backendOver, openSharedStore, reclaimSteps, seedBackend } from './backend.js';
import { endpointsOf, type ServerEndpoints } from './endpoints.js';
import { checkInterceptors } from './interceptors.js';
import type { ServerOptions } from './options/table.js';
import type { ServiceName } from '../model/services/services.js';
import { settingsOf } from './settings.js';
import { Reclaimer } from './reclaimer.js';
import { openCertificates } from './open-certificates.js';

/** The process that a data directory belongs to while workers serve it. */
export interface DirectoryOwner {
  /** Where workers that listen on these ports can be reached. */
  endpoints(ports: Readonly<Record<ServiceName, number>>): ServerEndpoints;
  /** What workers show clients, in PEM; undefined without TLS. */
  readonly certificate: string | undefined;
  /** Gives the directory up. Its workers must have ended before. Idempotent. */
  close(): Promise<void>;
}

/**
 * Takes a data directory for workers (`createWorkerServer`), makes what it begins with and frees its
 * space meanwhile. Serves nothing itself. Throws as `createServer` does, but for ports, which it
 * leaves to the workers.
 */
export async function openDirectoryOwner(options: ServerOptions): Promise<DirectoryOwner> {
  const settings = settingsOf(options);
  makeAccountDirectory(settings.accounts);
  checkInterceptors(options, settings);
  const store = await openSharedStore(settings);
  const certificates = await openCertificates(settings, 'exclusive').catch(
    async (error: unknown) => {
      await store.close();
      throw error;
    },
  );
  const backend = backendOver(store, settings);
  await seedBackend(backend, settings).catch(async (error: unknown) => {
    await certificates?.close();
    await store.close();
    throw error;
  });
  const reclaimer = new Reclaimer({
    steps: reclaimSteps(backend),
    // Requests are in flight in other processes only.
    inFlight: () => 0,
    timers: settings.timers,
    logger: settings.logger,
  });
  let closed: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    await certificates?.close();
    await reclaimer.stop();
    await store.close();
  };
  return {
    endpoints: (ports) => endpointsOf(settings, ports),
    get certificate() {
      return certificates?.certificate;
    },
    close: () => (closed ??= close()),
  };
}
