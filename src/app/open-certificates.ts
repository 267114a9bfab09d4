import { dirname } from 'node:path';
import { systemClock } from '../base/clock.js';
import { keepPrivate } from '../base/private-files.js';
import type { Sharing } from './open-engine.js';
import type { ServerSettings } from './settings.js';
import { ServerOptionsError } from './options/server-options-error.js';
import { Certificates, type CertificateSource } from './tls/certificates.js';
import {
  developmentCertificateFiles,
  keepDevelopmentPair,
  makeDevelopmentPair,
  renewBeforeMs,
  type DevelopmentNames,
} from './tls/development-certificate.js';
import { loadIdentity } from './tls/identity.js';
import {
  tlsChoiceOf,
  type TlsChoice,
  type TlsOptions,
  type TlsSource,
} from './options/tls-settings.js';

type TlsSettings = Pick<
  ServerSettings,
  'tls' | 'storage' | 'listeners' | 'accounts' | 'timers' | 'randomness' | 'logger'
>;

/**
 * Opens the certificate of a server, which is watched until it is closed; undefined without TLS.
 * Only the owner of a data directory creates the certificate in it. Throws `ServerOptionsError` for
 * an invalid one.
 */
export async function openCertificates(
  settings: TlsSettings,
  sharing: Sharing,
): Promise<Certificates | undefined> {
  const { tls, timers, logger } = settings;
  if (tls === undefined) return undefined;
  // Clients check certificates against the real time, so the configured clock does not apply.
  return Certificates.open(tls, {
    sourceOf: (choice) => sourceOf(choice, settings, sharing),
    clock: systemClock,
    timers,
    logger,
  });
}

/**
 * Loads another certificate and resolves with the function that activates it. Throws
 * `ServerOptionsError` for an invalid one, and for a server without TLS.
 */
export async function prepareCertificate(
  certificates: Certificates | undefined,
  options: TlsOptions,
): Promise<() => void> {
  if (certificates !== undefined) return certificates.prepare(tlsChoiceOf(options));
  throw new ServerOptionsError('tls is given to a server that runs with http: start it again');
}

function sourceOf(choice: TlsChoice, settings: TlsSettings, sharing: Sharing): CertificateSource {
  if (choice.kind === 'self-signed') return developmentSource(settings, sharing);
  const sources = choice.kind === 'pem' ? [choice.cert, choice.key] : [choice.pfx];
  const files = [...sources, choice.passphrase].flatMap(fileOf);
  return { files, renewBeforeMs: 0, load: () => loadIdentity(choice) };
}

function fileOf(source: TlsSource | undefined): string[] {
  return source?.kind === 'file' ? [source.path] : [];
}

function developmentSource(settings: TlsSettings, sharing: Sharing): CertificateSource {
  const names: DevelopmentNames = {
    hosts: Object.values(settings.listeners).map(({ host }) => host),
    accounts: settings.accounts.map(({ name }) => name),
  };
  const { storage, randomness, logger } = settings;
  if (storage.kind === 'memory') {
    return {
      files: [],
      renewBeforeMs,
      async load(nowMs) {
        const { cert, key } = await makeDevelopmentPair(names, { nowMs, randomness });
        return loadIdentity({ kind: 'pem', cert: given(cert), key: given(key), ...noPassphrase });
      },
    };
  }
  const { cert, key } = developmentCertificateFiles(storage.directory);
  const isOwner = sharing === 'exclusive';
  return {
    files: [cert, key],
    renewBeforeMs: isOwner ? renewBeforeMs : 0,
    async load(nowMs) {
      if (isOwner) warnOfOthers([dirname(key), key], logger);
      if (isOwner && (await keepDevelopmentPair({ cert, key }, names, { nowMs, randomness }))) {
        logger.info('made a certificate for development', { file: cert });
      }
      return loadIdentity({ kind: 'pem', cert: file(cert), key: file(key), ...noPassphrase });
    },
  };
}

/** Restricts files to their owner, and logs a warning when that fails. */
function warnOfOthers(paths: readonly string[], logger: TlsSettings['logger']): void {
  for (const path of paths) {
    const warning = keepPrivate(path);
    if (warning !== undefined) logger.warn(warning);
  }
}

const noPassphrase = { passphrase: undefined };

function given(text: string): TlsSource {
  return { kind: 'given', bytes: Buffer.from(text) };
}

function file(path: string): TlsSource {
  return { kind: 'file', path };
}
