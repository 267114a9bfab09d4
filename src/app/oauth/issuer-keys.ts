import { FileReadError } from '../../base/regular-file.js';
import { unreachable } from '../../base/invariant.js';
import type { Clock } from '../../base/clock.js';
import type { Timers } from '../../base/timers.js';
import type { IssuerKeys, KeySet } from '../../http/oauth/issuer-keys.js';
import type { Logger } from '../../http/pipeline/logger.js';
import { KeyCache, type KeyReading } from './key-cache.js';
import { keysOfFile, keysOfUrl } from './key-files.js';
import { keySetOf, KeySetError } from './key-set.js';
import type { KeyPlace } from './options.js';
import { ServerOptionsError } from '../server-options-error.js';

export interface KeySurroundings {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly logger: Logger;
}

const hourMs = 3_600_000;
const fileReading: KeyReading = { maxAgeMs: 1_000, retryMs: 1_000, renewMs: 0, staleMaxMs: hourMs };
const urlReading: KeyReading = {
  maxAgeMs: 600_000,
  retryMs: 5_000,
  renewMs: 30_000,
  staleMaxMs: hourMs,
};

/**
 * The keys of an issuer. Those of a file are read at once; those of a URL when the first token
 * comes, because the issuer may start after the server. Throws `ServerOptionsError` for keys that
 * cannot be used.
 */
export async function openIssuerKeys(
  place: KeyPlace,
  { clock, timers, logger }: KeySurroundings,
): Promise<IssuerKeys> {
  switch (place.kind) {
    case 'set':
      return fixedKeys(place.keySet);
    case 'url': {
      const { url } = place;
      const read = keysOfUrl(url, timers);
      const shown = url.origin + url.pathname;
      return new KeyCache({ place: shown, read, reading: urlReading, clock, logger });
    }
    case 'file': {
      const { path } = place;
      const read = keysOfFile(path);
      const keys = new KeyCache({ place: path, read, reading: fileReading, clock, logger });
      await keys.mustRead().catch((error: unknown) => {
        throw new ServerOptionsError(
          `the keys in oauth.jwks '${path}' cannot be used: ${reasonOf(error)}`,
        );
      });
      return keys;
    }
    default:
      return unreachable(place);
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof FileReadError) return `it ${error.reason}`;
  return error instanceof Error ? error.message : String(error);
}

function fixedKeys(value: unknown): IssuerKeys {
  const keys = Promise.resolve(usable(value));
  return { current: () => keys, renewed: () => keys };
}

function usable(value: unknown): KeySet {
  try {
    return keySetOf(value);
  } catch (error) {
    if (!(error instanceof KeySetError)) throw error;
    throw new ServerOptionsError(`the keys in oauth.jwks cannot be used: ${error.message}`);
  }
}
