import type { Link } from './link.js';

/** Where connections come from. */
export interface LinkSource {
  /** Tries for `limitMs` at most. Rejects with `StoreUnavailableError`. */
  connect(limitMs: number, pipelines?: boolean): Promise<Link>;
  /** Waits before the next of several attempts. */
  pause(failures: number): Promise<void>;
}
