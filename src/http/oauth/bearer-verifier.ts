import type { ServiceName } from '../../model/services/services.js';
import type { ScopedPermissions } from '../exchange/caller.js';

/** What a request asks for, as far as a token can be meant for it. */
export interface BearerTarget {
  readonly service: ServiceName;
  readonly account: string;
}

export type BearerDecision =
  | {
      readonly kind: 'granted';
      readonly permissions: ScopedPermissions;
      /** The claim `iss`. */
      readonly issuer: string;
      /** The claims `oid` and `tid`. */
      readonly objectId: string | undefined;
      readonly tenantId: string | undefined;
    }
  /** The token proves nothing. `reason` is for its bearer: a sentence without any part of it. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** The keys of the issuer cannot be had, so that nothing can be said about the token. */
  | { readonly kind: 'undecided' };

/** Decides about bearer tokens for every service of a server (table-service §8.5). */
export interface BearerVerifier {
  /** Whose tokens are good. */
  readonly issuer: string;
  /** The value of `WWW-Authenticate`: where a token is to be had, and for what. */
  readonly challenge: string;
  /** Whether tokens are taken over connections that anybody on the way can read. */
  readonly allowHttp: boolean;
  /** Never rejects because of what is in the token. */
  verify(token: string, target: BearerTarget): Promise<BearerDecision>;
}
