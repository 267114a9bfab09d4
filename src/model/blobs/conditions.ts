import type { TagExpression } from './tag-expression.js';

/**
 * The etags of a condition as the times that they stand for, in microseconds since 1970. An etag
 * that no blob of this server ever had is left out: it matches nothing. `any` is `*`, which every
 * blob that exists matches.
 */
export type EtagCondition = 'any' | readonly number[];

/**
 * The conditions of a request on a blob, or on the source of a copy (blob-service §9.1). An absent
 * member is no condition. Times are whole seconds since 1970.
 */
export interface BlobConditions {
  readonly ifMatch?: EtagCondition;
  readonly ifNoneMatch?: EtagCondition;
  /** Holds when the blob was modified after it. */
  readonly ifModifiedSinceSeconds?: number;
  /** Holds when the blob was not modified after it. */
  readonly ifUnmodifiedSinceSeconds?: number;
  readonly ifTags?: TagExpression;
}

/** The conditions of an append (blob-service §13), in bytes. */
export interface AppendConditions {
  /** The length before it. */
  readonly appendPosition?: number;
  /** The greatest length after it. */
  readonly maxBytes?: number;
}

/**
 * The conditions of a page write on the sequence number of the blob (blob-service §14): the number
 * is less than or equal to, less than, equal to. Numbers go beyond the safe integers.
 */
export interface SequenceConditions {
  readonly lessOrEqual?: bigint;
  readonly less?: bigint;
  readonly equal?: bigint;
}
