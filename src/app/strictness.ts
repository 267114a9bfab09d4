import { leniencyOf, UnknownLenientItemError } from '../http/pipeline/leniency.js';
import type { Leniency, LenientItem } from '../http/pipeline/leniency.js';
import { pagingTestPolicy, type PagingPolicy } from '../services/paging/paging-policy.js';
import { tableDeleteDelayMsMax } from '../services/tables/limits.js';
import { ServerOptionsError } from './server-options-error.js';

/** How exactly a server does what the cloud service does, and what it plays for tests. */
export interface StrictnessOptions {
  /**
   * What the cloud service refuses and this server shall accept: `true` for all of it, or the names
   * of single items. Default: nothing.
   */
  readonly lenient?: boolean | readonly LenientItem[];
  /**
   * Refuse an `x-ms-version` that the cloud service is not known to have. Default false: any date
   * since the first version is served, so that new client releases keep working.
   */
  readonly strictApiVersions?: boolean;
  /**
   * For how many milliseconds the name of a deleted table stays taken (409 `TableBeingDeleted`), at
   * most ten minutes. The cloud service takes 40 seconds and more. Default 0: it is free at once.
   */
  readonly tableDeleteDelayMs?: number;
  /**
   * Answer queries and lists in pages of every legal shape. The same seed shapes the same requests
   * alike; `true` is the seed `'0'`. Default false.
   */
  readonly pagingTestMode?: boolean | { readonly seed: string | number };
}

/** The same, checked and with every default filled in. */
export interface Strictness {
  readonly leniency: Leniency;
  readonly strictApiVersions: boolean;
  readonly tableDeleteDelayMs: number;
  readonly paging: PagingPolicy | undefined;
}

/** Throws `ServerOptionsError`. */
export function strictnessOf(options: StrictnessOptions): Strictness {
  return {
    leniency: checkedLeniency(options.lenient ?? false),
    strictApiVersions: options.strictApiVersions ?? false,
    tableDeleteDelayMs: checkedDelay(options.tableDeleteDelayMs ?? 0),
    paging: pagingOf(options.pagingTestMode ?? false),
  };
}

function checkedLeniency(lenient: boolean | readonly string[]): Leniency {
  try {
    return leniencyOf(lenient);
  } catch (error) {
    if (!(error instanceof UnknownLenientItemError)) throw error;
    throw new ServerOptionsError(`lenient: ${error.message}`);
  }
}

function checkedDelay(delayMs: number): number {
  if (Number.isInteger(delayMs) && delayMs >= 0 && delayMs <= tableDeleteDelayMsMax) return delayMs;
  throw new ServerOptionsError(
    `tableDeleteDelayMs must be an integer from 0 to ${tableDeleteDelayMsMax}, not ${delayMs}`,
  );
}

function pagingOf(
  mode: NonNullable<StrictnessOptions['pagingTestMode']>,
): PagingPolicy | undefined {
  if (mode === false) return undefined;
  return pagingTestPolicy(mode === true ? '0' : String(mode.seed));
}
