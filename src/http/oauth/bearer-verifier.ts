import type { ServiceName } from '../../model/services/services.js';
import type { ScopedPermissions } from '../exchange/caller.js';

/** The resource that a token must cover. */
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
      /** The claims `appid` or `azp`, `upn`, and the first `aud`. */
      readonly applicationId: string | undefined;
      readonly userPrincipalName: string | undefined;
      readonly audience: string | undefined;
    }
  /** The token is invalid. `reason` is a sentence for its bearer, without any part of the token. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** The keys of the issuer are unavailable, so the token cannot be verified. */
  | { readonly kind: 'undecided' };

/** Verifies bearer tokens for every service of a server (table-service §8.5). */
export interface BearerVerifier {
  /** The trusted issuer. */
  readonly issuer: string;
  /** The value of `WWW-Authenticate`: where to get a token, and for which resource. */
  readonly challenge: string;
  /** True when tokens are accepted over unencrypted connections. */
  readonly allowHttp: boolean;
  /** Never rejects because of the content of the token. */
  verify(token: string, target: BearerTarget): Promise<BearerDecision>;
}
