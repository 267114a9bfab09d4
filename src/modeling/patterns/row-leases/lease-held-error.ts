import type { Instant } from '../../rows/instant.js';
import { ModelError } from '../../table/errors.js';

/** Another holder has the lease. Nothing was changed. */
export class LeaseHeldError extends ModelError {
  override readonly name = 'LeaseHeldError';
  /** The name that the holder gave itself. */
  readonly holder: string;
  /** When the term ends by the service's clock, unless it is renewed. */
  readonly until: Instant;

  constructor(message: string, holder: string, until: Instant) {
    super(message);
    this.holder = holder;
    this.until = until;
  }
}
