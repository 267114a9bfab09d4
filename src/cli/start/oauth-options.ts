import { resolve } from 'node:path';
import type { OAuthOptions, ServerOptions } from '../../app/index.js';
import { tokenRights, type TokenRight } from '../../http/oauth/role-permissions.js';
import { devIssuer, devJwksPath, devKeysFolder } from '../issuer/dev-issuer-location.js';
import { UsageError } from '../terminal/failure.js';
import type { ComposeFlags } from './option-values.js';

/** The token options of flags or a file: the issuer may be `dev`. */
export interface OAuthInput extends Omit<Partial<OAuthOptions>, 'jwks'> {
  readonly jwks?: string;
}

/** Throws `UsageError`. */
export const oauthValue: ComposeFlags = (given) => {
  const options = Object.fromEntries(
    given.map(({ flag: { part = '' }, value }) => [part, value] as const),
  );
  const { roles } = options;
  return { ...options, ...(Array.isArray(roles) ? { roles: rolesOf(roles.map(String)) } : {}) };
};

const issuerMissingText =
  '--oauth-jwks, --oauth-audience, --oauth-role and --oauth-allow-http need --oauth <issuer>.';

/** The token options of the server; undefined when no issuer is named. Throws `UsageError`. */
export function oauthSettings(input: OAuthInput, isFlagGiven: boolean): OAuthOptions | undefined {
  const { issuer, jwks, ...rest } = input;
  if (issuer === undefined) {
    if (isFlagGiven) throw new UsageError(issuerMissingText);
    // The variable that allows HTTP may be set for other uses.
    return undefined;
  }
  if (issuer === 'basic') throw new UsageError(basicText);
  return { ...rest, issuer: issuer === 'dev' ? devIssuer : issuer, jwks: keysOf(issuer, jwks) };
}

/** The trusted issuer, as lines of the banner. */
export function oauthLines({ oauth, tls }: Pick<ServerOptions, 'oauth' | 'tls'>): string[] {
  if (oauth === undefined) return [];
  const isHttp = tls === undefined && oauth.allowHttp === true;
  return [`  Tokens      of ${oauth.issuer}${isHttp ? ', over plain HTTP as well' : ''}`];
}

/** Notes for users of tokens. */
export function oauthNotes({ oauth, tls }: Pick<ServerOptions, 'oauth' | 'tls'>): string[] {
  if (oauth === undefined || oauth.allowHttp === true || tls !== undefined) return [];
  return [
    'Bearer tokens are accepted over HTTPS alone, and this server speaks HTTP. Give --tls ' +
      'self-signed, or a certificate; for tests on one machine, or behind a proxy that ends TLS, ' +
      '--oauth-allow-http.',
  ];
}

/** Creates the key of the local issuer if it is trusted and has none yet. */
export async function prepareOAuth({ oauth }: Pick<ServerOptions, 'oauth'>): Promise<void> {
  if (oauth?.issuer !== devIssuer || oauth.jwks !== devJwksPath(devKeysFolder())) return;
  const { openDevIssuer } = await import('../issuer/dev-issuer.js');
  await openDevIssuer(devKeysFolder());
}

function keysOf(issuer: string, jwks: string | undefined): string {
  if (jwks !== undefined) return /^https?:/i.test(jwks) ? jwks : resolve(jwks);
  if (issuer === 'dev') return devJwksPath(devKeysFolder());
  throw new UsageError(
    `--oauth ${issuer} needs --oauth-jwks, the public keys of the issuer: a file, or a URL such as ` +
      'https://login.microsoftonline.com/<tenant>/discovery/v2.0/keys. For tokens of ' +
      'tabularium dev-token give --oauth dev.',
  );
}

const basicText =
  '--oauth basic is refused: Azurite takes any token without checking who signed it, and this ' +
  'server never accepts a token whose signature it cannot check. For tests give --oauth dev, and ' +
  'let the program send a token of: tabularium dev-token. For a real issuer give --oauth <issuer> ' +
  'and --oauth-jwks <file or URL>.';

/** Parses `name=right,right`; a name may contain any character except `=`. */
function rolesOf(texts: readonly string[]): Record<string, readonly TokenRight[]> {
  return Object.fromEntries(
    texts.map((text) => {
      const at = text.lastIndexOf('=');
      const names = text
        .slice(at + 1)
        .split(',')
        .filter((name) => name !== '');
      const rights = tokenRights.filter((right) => names.includes(right));
      if (at > 0 && rights.length === new Set(names).size) return [text.slice(0, at), rights];
      throw new UsageError(
        `--oauth-role ${text} is no name and rights, such as Shop.Clerk=read,write; rights are ` +
          `${tokenRights.join(', ')}.`,
      );
    }),
  );
}
