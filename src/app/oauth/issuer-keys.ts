import { messageOf } from '../../base/thrown.js';
import { FileReadError } from '../../base/regular-file.js';
import { unreachable } from '../../base/invariant.js';
import type { Clock } from '../../base/clock.js';
import type { Randomness } from '../../base/randomness.js';
import type { Timers } from '../../base/async/timers.js';
import type { IssuerKeys, KeySet } from '../../http/oauth/issuer-keys.js';
import type { Logger } from '../../http/exchange/logger.js';
import { KeyCache, type KeyReading } from './key-cache.js';
import { keysOfUrl } from './key-download.js';
import { keysOfFile } from './key-files.js';
import { keySetOf, KeySetError } from './key-set.js';
import type { KeySource } from '../options/oauth-settings.js';
import { ServerOptionsError } from '../options/server-options-error.js';

export interface IssuerKeyContext {
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly timers: Timers;
  readonly logger: Logger;
}

/** Keys that are refreshed until they are closed. */
export interface OpenIssuerKeys extends IssuerKeys {
  /** Idempotent. */
  close(): void;
}

const hourMs = 3_600_000;
const fileReading: KeyReading = {
  maxAgeMs: 1_000,
  // A file is read quickly, and a key removed from it must be refused at once.
  isAwaited: true,
  retryMs: { first: 1_000, last: 1_000 },
  renewMs: 0,
  staleMaxMs: hourMs,
};
const urlReading: KeyReading = {
  maxAgeMs: 600_000,
  isAwaited: false,
  retryMs: { first: 5_000, last: 60_000 },
  renewMs: 30_000,
  staleMaxMs: hourMs,
};

/**
 * Opens the keys of an issuer. A file is read at once; a URL with the first token, because the
 * issuer may start after the server. Throws `ServerOptionsError` for invalid keys.
 */
export async function openIssuerKeys(
  source: KeySource,
  context: IssuerKeyContext,
): Promise<OpenIssuerKeys> {
  switch (source.kind) {
    case 'set':
      return fixedKeys(source.keySet);
    case 'url': {
      const { url } = source;
      const read = keysOfUrl(url, context.timers);
      const shown = url.origin + url.pathname;
      return new KeyCache({ ...context, place: shown, read, reading: urlReading });
    }
    case 'file': {
      const { path } = source;
      const read = keysOfFile(path);
      const keys = new KeyCache({ ...context, place: path, read, reading: fileReading });
      await keys.mustRead().catch((error: unknown) => {
        throw new ServerOptionsError(
          `the keys in oauth.jwks '${path}' cannot be used: ${reasonOf(error)}`,
        );
      });
      return keys;
    }
    default:
      return unreachable(source);
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof FileReadError) return `it ${error.reason}`;
  return messageOf(error);
}

function fixedKeys(value: unknown): OpenIssuerKeys {
  const keys = Promise.resolve(usable(value));
  return { current: () => keys, renewed: () => keys, close: () => undefined };
}

function usable(value: unknown): KeySet {
  try {
    return keySetOf(value);
  } catch (error) {
    if (!(error instanceof KeySetError)) throw error;
    throw new ServerOptionsError(`the keys in oauth.jwks cannot be used: ${error.message}`);
  }
}
