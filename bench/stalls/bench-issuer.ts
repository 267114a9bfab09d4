import { writeFile } from 'node:fs/promises';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';

const algorithm = 'RS256';
/** Bits of a key, as public issuers use. */
const keyBits = 4096;
const keyId = 'stalls';

/** The subject of the tokens. */
export const bearerIdentity = {
  oid: '11111111-2222-4333-8444-555555555555',
  tid: '66666666-7777-4888-9999-aaaaaaaaaaaa',
};

/** An issuer of tokens that the server of the benchmark trusts. */
export interface BenchIssuer {
  readonly issuer: string;
  /** A token with these roles, valid for a day. */
  token(roles: readonly string[]): Promise<string>;
}

/** Makes the keys of an issuer, and writes the public ones to a file. */
export async function makeIssuer(jwksPath: string): Promise<BenchIssuer> {
  const issuer = 'https://issuer.stalls.example/';
  const { publicKey, privateKey } = await generateKeyPair(algorithm, { modulusLength: keyBits });
  const jwk = { ...(await exportJWK(publicKey)), kid: keyId, alg: algorithm };
  await writeFile(jwksPath, JSON.stringify({ keys: [jwk] }));
  return {
    issuer,
    token: (roles) =>
      new SignJWT({ ...bearerIdentity, roles: [...roles] })
        .setProtectedHeader({ alg: algorithm, kid: keyId })
        .setIssuer(issuer)
        .setAudience('https://storage.azure.com')
        .setIssuedAt()
        .setNotBefore('0s')
        .setExpirationTime('1d')
        .sign(privateKey),
  };
}
