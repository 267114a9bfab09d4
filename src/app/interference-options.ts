import type { FaultRule } from '../http/faults/rule.js';
import type { ThrottleSetting } from '../http/throttle/limits.js';

/** What a server does to requests besides serving them, for tests of clients. */
export interface InterferenceOptions {
  /** Faults that requests meet; see docs/reference/fault-injection.md. Default: none. */
  readonly faults?: readonly FaultRule[];
  /** Limits beyond which requests are refused with 503 `ServerBusy`. Default: `off`. */
  readonly throttle?: ThrottleSetting;
}
