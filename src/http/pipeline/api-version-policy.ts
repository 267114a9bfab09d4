import { invalidHeader } from '../../model/errors/query-errors.js';
import {
  defaultApiVersion,
  knownApiVersions,
  oldestApiVersion,
} from '../../wire/http/api-versions.js';
import type { Logger } from '../exchange/logger.js';

/** Unknown versions that are remembered and logged, at most. */
const unknownVersionsMax = 100;

/** Decides which `x-ms-version` is accepted, for all services alike. */
export class ApiVersionPolicy {
  readonly #strict: boolean;
  readonly #logger: Logger;
  readonly #admitted = new Set<string>(knownApiVersions);

  /** `strict`: accepts only the versions that the cloud service is known to have. */
  constructor({ strict, logger }: { readonly strict: boolean; readonly logger: Logger }) {
    this.#strict = strict;
    this.#logger = logger;
  }

  /**
   * The version to execute a request with. Unless the policy is strict, any well-formed date from
   * the first version on is accepted, so that a new client release keeps working, and an unknown
   * one is logged once. Throws `InvalidHeaderValue`.
   */
  admit(text: string | undefined): string {
    if (text === undefined) return defaultApiVersion;
    if (this.#admitted.has(text)) return text;
    if (this.#strict || !isDate(text) || text < oldestApiVersion) {
      throw invalidHeader('x-ms-version', text);
    }
    if (this.#admitted.size < knownApiVersions.length + unknownVersionsMax) {
      this.#admitted.add(text);
      this.#logger.warn('a client sends an API version that is not known here; it is served', {
        version: text,
        newestKnown: knownApiVersions.at(-1),
      });
    }
    return text;
  }
}

function isDate(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const millis = Date.parse(`${text}T00:00:00Z`);
  return !Number.isNaN(millis) && new Date(millis).toISOString().startsWith(text);
}
