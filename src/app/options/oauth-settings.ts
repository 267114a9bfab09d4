import { isAbsolute } from 'node:path';
import type { JSONWebKeySet } from 'jose';
import type { TokenRules } from '../../http/oauth/token-verifier.js';
import type { TokenRight } from '../../http/oauth/role-permissions.js';
import { wrongOption } from './server-options-error.js';

/** Signing algorithms in which the verification key cannot sign. */
export const oauthAlgorithms = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
] as const;
export type OAuthAlgorithm = (typeof oauthAlgorithms)[number];

/** Accepts the bearer tokens of one issuer. */
export interface OAuthOptions {
  /** The exact claim `iss` of tokens: a URL. */
  readonly issuer: string;
  /**
   * Accepted claims `aud`, with or without a trailing slash. Default: the storage service
   * (`https://storage.azure.com`) or the cloud endpoint of the addressed account and service.
   */
  readonly audience?: string | readonly string[];
  /**
   * The public keys of the issuer: the path of a file, which is reread when it changes; a URL
   * (https, or http of this machine), which is refreshed every ten minutes and for unknown keys; or
   * the set itself.
   */
  readonly jwks: string | URL | JSONWebKeySet;
  /** Default: RS256, PS256 and ES256. */
  readonly algorithms?: readonly OAuthAlgorithm[];
  /** The allowed clock skew of the issuer, in whole seconds up to 600. Default 0. */
  readonly clockToleranceSeconds?: number;
  /** The permissions of further roles and scopes, by name, beside the built-in ones. */
  readonly roles?: Readonly<Record<string, readonly TokenRight[]>>;
  /**
   * Accept tokens over plain HTTP as well, where anybody on the network can read and reuse them.
   * For tests on one machine, and behind a proxy that ends TLS. Default false.
   */
  readonly allowHttp?: boolean;
}

export type KeySource =
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'url'; readonly url: URL }
  | { readonly kind: 'set'; readonly keySet: unknown };

export interface OAuthSettings {
  readonly rules: TokenRules;
  readonly keySource: KeySource;
}

const defaultAlgorithms: readonly OAuthAlgorithm[] = ['RS256', 'PS256', 'ES256'];
export const toleranceSecondsMax = 600;
const textCharactersMax = 1000;

/** For options with a valid shape. Throws `ServerOptionsError`. */
export function oauthSettingsOf(options: OAuthOptions): OAuthSettings {
  const { issuer, jwks, allowHttp = false } = options;
  return {
    rules: {
      issuer: headerText('issuer', issuer),
      audiences: audiencesOf(options.audience),
      algorithms: options.algorithms ?? defaultAlgorithms,
      clockToleranceSeconds: options.clockToleranceSeconds ?? 0,
      rights: new Map(Object.entries(options.roles ?? {})),
      allowHttp,
    },
    keySource: keySourceOf(jwks),
  };
}

/** Refuses spaces, which separate the parts of a challenge. */
function headerText(option: 'issuer' | 'audience', text: string): string {
  const isUrl = option === 'audience' || URL.canParse(text);
  if (option === 'issuer' && isUrl && new URL(text).password !== '') {
    throw wrongOption(
      ['oauth', 'issuer'],
      'has a password in it, and clients get to see it: give the issuer as its tokens have it',
    );
  }
  if (isUrl && /^[\x21-\x7e]+$/.test(text) && text.length <= textCharactersMax) return text;
  throw wrongOption(
    ['oauth', option],
    `must be ${option === 'issuer' ? 'a URL' : 'a text'} of visible ASCII characters without ` +
      `spaces, not '${withoutPassword(text).slice(0, 100)}'`,
  );
}

/** The credentials of a URL are removed from messages. */
function withoutPassword(text: string): string {
  return text.replace(/\/\/[^/?#]*@/, '//…@');
}

function audiencesOf(audience: OAuthOptions['audience']): readonly string[] | undefined {
  if (audience === undefined) return undefined;
  const audiences = typeof audience === 'string' ? [audience] : audience;
  return audiences.map((text) => headerText('audience', text));
}

function keySourceOf(jwks: OAuthOptions['jwks'] | undefined): KeySource {
  if (jwks === undefined) {
    throw wrongOption(['oauth'], "needs the member 'jwks': a file, a URL or a key set");
  }
  if (jwks instanceof URL) return ofUrl(jwks);
  if (typeof jwks !== 'string') return { kind: 'set', keySet: jwks };
  if (/^https?:/i.test(jwks) && !URL.canParse(jwks)) {
    // The value is not repeated: it may contain a password.
    throw wrongOption(jwksPath, 'begins as a URL and is none: check how it is written');
  }
  const isUrl = /^[a-z][a-z0-9+.-]+:/i.test(jwks) && !isAbsolute(jwks) && URL.canParse(jwks);
  return isUrl ? ofUrl(new URL(jwks)) : { kind: 'file', path: jwks };
}

const jwksPath = ['oauth', 'jwks'];
const ownHosts: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/** Requires https, because anybody who can change the keys in transit can sign tokens. */
function ofUrl(url: URL): KeySource {
  const isSafe =
    url.protocol === 'https:' || (url.protocol === 'http:' && ownHosts.has(url.hostname));
  if (isSafe) return { kind: 'url', url };
  throw wrongOption(
    jwksPath,
    'must be an https: URL, an http: URL of this machine, or the path of a file, not ' +
      `'${url.protocol}//${url.host}${url.pathname}'`,
  );
}
