import {
  exportJWK,
  generateKeyPair,
  SignJWT,
  type CryptoKey,
  type JSONWebKeySet,
  type JWK,
} from 'jose';

/** An issuer of tokens for tests with its own keys. */
export interface TestIssuer {
  readonly issuer: string;
  readonly keyId: string;
  readonly key: CryptoKey;
  readonly publicJwk: JWK;
  readonly jwks: JSONWebKeySet;
  /**
   * A valid token for an hour, except for these claims and this header; undefined leaves one out.
   */
  token(claims?: Claims, header?: Readonly<Record<string, unknown>>): Promise<string>;
}

export type Claims = Readonly<Record<string, unknown>>;

export interface IssuerOptions {
  readonly keyId?: string;
  readonly algorithm?: string;
  readonly nowSeconds?: number;
}

export const testTenant = '5f2cdd3a-3d5c-4f2e-9a55-1d0f2f7f7b11';
export const testIssuerUrl = `https://issuer.example/${testTenant}/`;

/** Makes an issuer; `keyId` names its key. */
export async function testIssuer(options: IssuerOptions = {}): Promise<TestIssuer> {
  const { keyId = 'key-1', algorithm = 'RS256' } = options;
  const { publicKey, privateKey } = await generateKeyPair(algorithm, { extractable: true });
  const publicJwk: JWK = { ...(await exportJWK(publicKey)), kid: keyId, alg: algorithm };
  return {
    issuer: testIssuerUrl,
    keyId,
    key: privateKey,
    publicJwk,
    jwks: { keys: [publicJwk] },
    token(claims = {}, header = {}) {
      const now = options.nowSeconds ?? Math.floor(Date.now() / 1000);
      const all: Claims = {
        iss: testIssuerUrl,
        aud: 'https://storage.azure.com',
        iat: now,
        nbf: now - 60,
        exp: now + 3600,
        ...claims,
      };
      return new SignJWT({ ...all })
        .setProtectedHeader({ alg: algorithm, kid: keyId, ...header })
        .sign(privateKey);
    },
  };
}

/** A token with the given header and claims, and any signature. */
export function assembled(header: object, claims: object, signature: string | Buffer = ''): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const last = typeof signature === 'string' ? signature : signature.toString('base64url');
  return `${part(header)}.${part(claims)}.${last}`;
}
