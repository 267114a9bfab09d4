import {
  boolean,
  choice,
  either,
  instance,
  list,
  member,
  object,
  record,
  text,
  whole,
  type Shape,
} from '../../base/shape/shape.js';
import { tokenRights } from '../../http/oauth/role-permissions.js';
import { oauthAlgorithms, toleranceSecondsMax, type OAuthOptions } from './oauth-settings.js';
import { option } from './option.js';

const oauth: Shape<OAuthOptions> = object<OAuthOptions>(
  {
    issuer: member(
      text(),
      'The claim iss of tokens, a URL; or dev, for tokens of tabularium dev-token.',
      'https://login.example/tenant/v2.0',
    ),
    audience: member(
      either([text(), list(text(), { min: 1 })]),
      'Whom tokens must be for. Default: https://storage.azure.com, or the cloud endpoint of the account.',
      'https://storage.azure.com',
    ),
    jwks: member(
      either(
        [
          instance<URL>('URL'),
          text(),
          instance<Extract<OAuthOptions['jwks'], { readonly keys: unknown }>>('object', {
            expected: 'a JSON Web Key Set',
          }),
        ],
        { expected: 'a file, a URL or a JSON Web Key Set' },
      ),
      'The public keys of the issuer: a file, relative to this one, or a URL.',
      'issuer-keys.json',
    ),
    algorithms: member(
      list(choice(oauthAlgorithms), { min: 1 }),
      'Ways to sign tokens. Default: RS256, PS256 and ES256.',
      ['RS256'],
      'program',
    ),
    clockToleranceSeconds: member(
      whole(0, toleranceSecondsMax),
      'How far off the clock of the issuer may be. Default: 0.',
      30,
      'program',
    ),
    roles: member(record(list(choice(tokenRights))), 'What roles and scopes allow, by name.', {
      'Shop.Clerk': ['read', 'write'],
    }),
    allowHttp: member(
      boolean,
      'Take tokens over plain HTTP as well, where others can read them; for tests only.',
      false,
    ),
  },
  { required: ['issuer'] },
);

export const oauthOptions = {
  /** Accept bearer tokens of an issuer. Default: none. */
  oauth: option({
    shape: oauth,
    help: 'whose bearer tokens are accepted',
    defaultWords: "nobody's",
    group: 'Bearer tokens:',
    flags: [
      {
        spelling: '--oauth <issuer>',
        form: 'text',
        part: 'issuer',
        help: 'accept bearer tokens of this issuer (a URL) over HTTPS; dev: those of tabularium dev-token',
        variable: 'TABULARIUM_OAUTH',
      },
      {
        spelling: '--oauth-jwks <file or URL>',
        form: 'text',
        part: 'jwks',
        help: 'the public keys of the issuer, a JSON Web Key Set',
        variable: 'TABULARIUM_OAUTH_JWKS',
      },
      {
        spelling: '--oauth-audience <text>',
        form: 'texts',
        part: 'audience',
        help:
          'whom tokens must be for; may be repeated. Default: https://storage.azure.com, or the ' +
          'cloud endpoint of the account',
        variable: 'TABULARIUM_OAUTH_AUDIENCE',
      },
      {
        spelling: '--oauth-role <name=rights>',
        form: 'texts',
        part: 'roles',
        help: 'what a role or a scope allows, such as Shop.Clerk=read,write; may be repeated',
      },
      {
        spelling: '--oauth-allow-http',
        form: 'on',
        part: 'allowHttp',
        completes: true,
        help: 'take tokens over plain HTTP as well, where others can read them; for tests only',
        variable: 'TABULARIUM_OAUTH_ALLOW_HTTP',
      },
    ],
    file: {
      member: 'oauth',
      paths: ['jwks'],
      example: {
        issuer: 'https://login.example/',
        jwks: 'https://login.example/keys',
        roles: { 'Shop.Clerk': ['read', 'write'] },
      },
    },
    page: 'oauth.md',
  }),
};
