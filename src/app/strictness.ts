import { requestRulesOf, type RequestRules } from '../http/operations/request-rules.js';
import { pagingTestPolicy, type PagingPolicy } from '../services/paging/paging-policy.js';
import type { StrictnessOptions } from './options/strictness.js';

/** `StrictnessOptions` with every default filled in. */
export interface Strictness {
  readonly rules: RequestRules;
  readonly strictApiVersions: boolean;
  readonly tableDeleteDelayMs: number;
  readonly containerDeleteDelayMs: number;
  readonly paging: PagingPolicy | undefined;
}

/** For validated options. */
export function strictnessOf(options: StrictnessOptions): Strictness {
  return {
    rules: requestRulesOf(options.lenient ?? false),
    strictApiVersions: options.strictApiVersions ?? false,
    tableDeleteDelayMs: options.tableDeleteDelayMs ?? 0,
    containerDeleteDelayMs: options.containerDeleteDelayMs ?? 0,
    paging: pagingOf(options.pagingTestMode ?? false),
  };
}

function pagingOf(
  mode: NonNullable<StrictnessOptions['pagingTestMode']>,
): PagingPolicy | undefined {
  if (mode === false) return undefined;
  return pagingTestPolicy(mode === true ? '0' : String(mode.seed));
}
