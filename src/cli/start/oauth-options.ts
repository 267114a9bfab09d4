import { resolve } from 'node:path';
import { Option } from 'commander';
import type { ServerOptions } from '../../app/index.js';
import { tokenRights, type TokenRight } from '../../http/oauth/role-permissions.js';
import { devIssuer, devJwksPath, devKeysFolder } from '../dev-issuer-place.js';
import { UsageError } from '../failure.js';
import { repeated } from '../option-parsers.js';

export interface OAuthFlags {
  readonly oauth?: string;
  readonly oauthAudience?: readonly string[];
  readonly oauthJwks?: string;
  readonly oauthRole?: readonly string[];
  readonly oauthAllowHttp?: boolean;
}

const group = 'Bearer tokens:';

export function oauthOptions(): Option[] {
  const options = [
    new Option(
      '--oauth <issuer>',
      'accept bearer tokens of this issuer (a URL) over HTTPS; dev: those of tabularium dev-token',
    ).env('TABULARIUM_OAUTH'),
    new Option(
      '--oauth-jwks <file or URL>',
      'the public keys of the issuer, a JSON Web Key Set',
    ).env('TABULARIUM_OAUTH_JWKS'),
    new Option(
      '--oauth-audience <text>',
      'whom tokens must be for; may be repeated. Default: https://storage.azure.com, or the cloud ' +
        'endpoint of the account',
    )
      .env('TABULARIUM_OAUTH_AUDIENCE')
      .argParser(repeated),
    new Option(
      '--oauth-role <name=rights>',
      'what a role or a scope allows, such as Shop.Clerk=read,write; may be repeated',
    ).argParser(repeated),
    new Option(
      '--oauth-allow-http',
      'take tokens over plain HTTP as well, where others can read them; for tests only (env: ' +
        'TABULARIUM_OAUTH_ALLOW_HTTP=true)',
    ),
  ];
  return options.map((option) => option.helpGroup(group));
}

/** Throws `UsageError`. */
export function oauthSettings(flags: OAuthFlags): Pick<ServerOptions, 'oauth'> {
  const { oauth, oauthJwks, oauthAudience: audience, oauthRole } = flags;
  if (oauth === undefined) {
    const others = [oauthJwks, audience, oauthRole, flags.oauthAllowHttp];
    if (others.every((other) => other === undefined)) return {};
    throw new UsageError(
      '--oauth-jwks, --oauth-audience, --oauth-role and --oauth-allow-http need --oauth <issuer>.',
    );
  }
  if (oauth === 'basic') throw new UsageError(basicText);
  return {
    oauth: {
      issuer: oauth === 'dev' ? devIssuer : oauth,
      jwks: keysOf(oauth, oauthJwks),
      ...(audience === undefined ? {} : { audience }),
      ...(oauthRole === undefined ? {} : { roles: rolesOf(oauthRole) }),
      allowHttp: flags.oauthAllowHttp === true || allowedByEnvironment(),
    },
  };
}

/** Whose tokens are accepted, as lines of the banner. */
export function oauthLines({ oauth, tls }: Pick<ServerOptions, 'oauth' | 'tls'>): string[] {
  if (oauth === undefined) return [];
  const isHttp = tls === undefined && oauth.allowHttp === true;
  return [`  Tokens      of ${oauth.issuer}${isHttp ? ', over plain HTTP as well' : ''}`];
}

/** What the user of tokens should know. */
export function oauthNotes({ oauth, tls }: Pick<ServerOptions, 'oauth' | 'tls'>): string[] {
  if (oauth === undefined || oauth.allowHttp === true || tls !== undefined) return [];
  return [
    'Bearer tokens are accepted over HTTPS alone, and this server speaks HTTP. Give --tls ' +
      'self-signed, or a certificate; for tests on one machine, or behind a proxy that ends TLS, ' +
      '--oauth-allow-http.',
  ];
}

/** Makes the key of the local issuer where that is to be trusted and has none yet. */
export async function prepareOAuth({ oauth, oauthJwks }: OAuthFlags): Promise<void> {
  if (oauth !== 'dev' || oauthJwks !== undefined) return;
  const { openDevIssuer } = await import('../dev-issuer.js');
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

/** Only a plain yes may mean that tokens go where others can read them. */
function allowedByEnvironment(): boolean {
  const text = (process.env['TABULARIUM_OAUTH_ALLOW_HTTP'] ?? '').toLowerCase();
  if (text === 'true' || text === '1') return true;
  if (text === '' || text === 'false' || text === '0') return false;
  throw new UsageError(`TABULARIUM_OAUTH_ALLOW_HTTP is '${text}'; it may be true or false.`);
}

const basicText =
  '--oauth basic is refused: Azurite takes any token without checking who signed it, and this ' +
  'server never accepts a token whose signature it cannot check. For tests give --oauth dev, and ' +
  'let the program send a token of: tabularium dev-token. For a real issuer give --oauth <issuer> ' +
  'and --oauth-jwks <file or URL>.';

/** Reads `name=right,right`; a name may have any character but the sign itself. */
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
