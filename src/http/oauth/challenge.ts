import { storageAudience } from './audience.js';

const entraIssuer = 'https://sts.windows.net/';
const entraAuthority = 'https://login.microsoftonline.com/';

/**
 * The challenge of a server that trusts an issuer (table-service §8.1). Credentials of client
 * libraries take the tenant from the first path segment of `authorization_uri`, and the scope from
 * `resource_id`, which must be a URL.
 */
export function bearerChallenge(issuer: string, audiences: readonly string[] | undefined): string {
  const resource = audiences?.find((audience) => URL.canParse(audience)) ?? storageAudience;
  return `Bearer authorization_uri=${authorityOf(issuer)}/oauth2/authorize resource_id=${resource}`;
}

/** The prefix of an issuer's endpoints: the issuer without a version and a trailing slash. */
function authorityOf(issuer: string): string {
  const base = issuer.startsWith(entraIssuer)
    ? entraAuthority + issuer.slice(entraIssuer.length)
    : issuer;
  return base.replace(/\/$/, '').replace(/\/v2\.0$/, '');
}
