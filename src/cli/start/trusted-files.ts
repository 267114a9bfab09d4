import type { Logger } from 'pino';
import { exposureOf, type TrustedFile } from '../../base/file-exposure.js';
import type { LoadedConfig } from '../config/config-file.js';
import type { StartSettings } from './settings.js';

type TrustSettings = Pick<StartSettings, 'options'>;

/** The files that affect access: the configuration, its key files, and those of TLS. */
function trustedFiles(
  { files, holdsKeys }: LoadedConfig,
  { options: { tls } }: TrustSettings,
): readonly TrustedFile[] {
  const configured = files.map((path, at) => ({ path, isSecret: at > 0 || holdsKeys }));
  if (tls === undefined || tls === 'self-signed') return configured;
  const key = 'pfx' in tls ? tls.pfx : tls.key;
  const paths = [key, tls.passphraseFile].filter((path) => typeof path === 'string');
  return [...configured, ...paths.map((path) => ({ path, isSecret: true }))];
}

/** Logs a warning for each of these files that other users can access, with advice. */
export function warnOfTrustedFiles(
  log: Pick<Logger, 'warn'>,
  loaded: LoadedConfig,
  settings: TrustSettings,
): void {
  for (const warning of trustedFiles(loaded, settings).flatMap(exposureOf)) log.warn(warning);
}
