import type { CorsRule } from '../../model/resources/service-properties.js';

/** The CORS rules that accounts have set for one service. */
export interface CorsRuleSource {
  /** What the store has. */
  read(account: string): Promise<readonly CorsRule[]>;
  /** What this process knows without asking the store; `nowMs` is on the monotonic clock. */
  recent(account: string, nowMs: number): readonly CorsRule[];
}
