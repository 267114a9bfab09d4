/** Most stored access policies that a table, queue or container has (queue-service §3.5). */
export const signedIdentifiersMax = 5;

/**
 * A stored access policy (queue-service §7.5). It supplies the fields that a signature which names
 * it leaves out. An absent member was not given.
 */
export interface SignedIdentifier {
  /** Up to 64 characters, unique within the resource. */
  readonly id: string;
  /** `yyyy-MM-ddTHH:mm:ss.fffffffZ`. */
  readonly start?: string;
  /** `yyyy-MM-ddTHH:mm:ss.fffffffZ`. */
  readonly expiry?: string;
  /** Letters of the service that owns the resource. */
  readonly permission?: string;
}
