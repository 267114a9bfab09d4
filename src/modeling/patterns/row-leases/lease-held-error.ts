import type { Instant } from '../../rows/instant.js';
import { ModelError } from '../../table/errors.js';

/** Somebody else holds the lease. Nothing was changed. */
export class LeaseHeldError extends ModelError {
  override readonly name = 'LeaseHeldError';
  /** Who, as it named itself. */
  readonly holder: string;
  /** When its term ends by the service's clock, if it is not renewed. */
  readonly until: Instant;

  constructor(message: string, holder: string, until: Instant) {
    super(message);
    this.holder = holder;
    this.until = until;
  }
}
