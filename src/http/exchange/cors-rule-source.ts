import type { CorsRule } from '../../model/resources/service-properties.js';

/** The CORS rules that accounts have set for one service. */
export interface CorsRuleSource {
  /** The rules in the store. */
  read(account: string): Promise<readonly CorsRule[]>;
  /** The rules in the cache of this process; `nowMs` is on the monotonic clock. */
  recent(account: string, nowMs: number): readonly CorsRule[];
}
