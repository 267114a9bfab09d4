import type { BearerVerifier } from '../../http/oauth/bearer-verifier.js';
import { TokenVerifier } from '../../http/oauth/token-verifier.js';
import { openIssuerKeys, type IssuerKeyContext } from './issuer-keys.js';
import type { OAuthSettings } from '../options/oauth-settings.js';

/** A verifier whose keys are refreshed until it is closed. */
export interface OpenBearerVerifier {
  readonly verifier: BearerVerifier;
  /** Idempotent. Pending verifications are undecided then. */
  close(): void;
}

/** Opens the token verifier of a server. Throws `ServerOptionsError` for invalid keys. */
export async function openBearerVerifier(
  { rules, keySource }: OAuthSettings,
  context: IssuerKeyContext,
): Promise<OpenBearerVerifier> {
  const { clock, logger } = context;
  const keys = await openIssuerKeys(keySource, context);
  const verifier = new TokenVerifier({ rules, keys, clock, logger });
  return { verifier, close: () => keys.close() };
}
