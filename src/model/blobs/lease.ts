/** Most seconds of a lease that ends by itself, and of the time that a break may take. */
export const leaseSecondsMax = 60;
/** Fewest seconds of a lease that ends by itself. */
export const leaseSecondsMin = 15;

/** How long a lease lasts that is acquired or renewed (blob-service §10.1). */
export type LeaseDuration = 'infinite' | { readonly seconds: number };

/**
 * What a request does to the lease of a blob or container (blob-service §10.1). Ids are GUIDs in
 * lower case with dashes: the edge brings every accepted form into this one.
 */
export type LeaseAction =
  | {
      readonly kind: 'acquire';
      readonly duration: LeaseDuration;
      /** Absent: the server makes one. */
      readonly proposedId?: string;
    }
  | { readonly kind: 'renew' | 'release'; readonly id: string }
  | { readonly kind: 'change'; readonly id: string; readonly proposedId: string }
  | {
      readonly kind: 'break';
      /** 0 to 60. Absent: what the lease has left, or nothing when it is infinite. */
      readonly periodSeconds?: number;
    };

/** blob-service §10.2. Only `leased` and `breaking` keep others from writing. */
export type LeaseState = 'available' | 'leased' | 'breaking' | 'broken' | 'expired';

/** The lease of a blob or container as answers show it. */
export interface LeaseProperties {
  readonly status: 'locked' | 'unlocked';
  readonly state: LeaseState;
  /** Only while the state is `leased`. */
  readonly duration?: 'infinite' | 'fixed';
}
