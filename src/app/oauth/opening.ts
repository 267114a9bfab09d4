import type { BearerVerifier } from '../../http/oauth/bearer-verifier.js';
import { TokenVerifier } from '../../http/oauth/token-verifier.js';
import { openIssuerKeys, type KeySurroundings } from './issuer-keys.js';
import type { OAuthSettings } from './options.js';

/** What verifies the tokens of a server. Throws `ServerOptionsError` for keys that are none. */
export async function openBearerVerifier(
  { rules, keyPlace }: OAuthSettings,
  surroundings: KeySurroundings,
): Promise<BearerVerifier> {
  const { clock, logger } = surroundings;
  const keys = await openIssuerKeys(keyPlace, surroundings);
  return new TokenVerifier({ rules, keys, clock, logger });
}
