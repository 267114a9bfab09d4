import { link, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { exportJWK, generateKeyPair, importJWK, SignJWT, type CryptoKey, type JWK } from 'jose';
import { FileReadError, readRegularFile } from '../../base/regular-file.js';
import { makeDirectory } from '../../base/make-directory.js';
import { keepPrivate, privateDirectoryMode, privateFileMode } from '../../base/private-files.js';
import { systemRandomness } from '../../base/randomness.js';
import { devJwksPath, devTenant } from './dev-issuer-location.js';
import { codeOf, CommandFailure, messageOf } from '../terminal/failure.js';
import { notice } from '../terminal/notice.js';

const algorithm = 'RS256';

/** The key of a local issuer of tokens. */
export interface DevIssuer {
  /** The public key as a JSON Web Key Set. */
  readonly jwks: string;
  readonly key: CryptoKey;
  readonly keyId: string;
}

/**
 * Opens the local issuer with its key in a folder; creates both when absent. Concurrent processes
 * get the same key. Only the user can read the private key. Throws `CommandFailure`.
 */
export async function openDevIssuer(folder: string): Promise<DevIssuer> {
  const privatePath = join(resolve(folder), 'private-key.json');
  const jwksPath = devJwksPath(folder);
  try {
    makeDirectory(resolve(folder), privateDirectoryMode);
    const exposed = keepPrivate(privatePath);
    if (exposed !== undefined) notice(`Warning: ${exposed}`);
    const text = (await read(privatePath)) ?? (await makeKey(privatePath));
    const secret = parseKey(text, privatePath);
    const { kty, n, e, kid } = secret;
    const jwks = `${JSON.stringify({ keys: [{ kty, n, e, kid, alg: algorithm, use: 'sig' }] })}\n`;
    if ((await read(jwksPath)) !== jwks) await writeFile(jwksPath, jwks);
    const key = await importJWK(secret, algorithm);
    if (key instanceof Uint8Array || kid === undefined) throw unusable(privatePath);
    return { jwks, key, keyId: kid };
  } catch (error) {
    if (error instanceof CommandFailure) throw error;
    throw new CommandFailure(
      `The keys of the local issuer in ${folder} cannot be used: ${messageOf(error)}`,
      { cause: error },
    );
  }
}

async function read(path: string): Promise<string | undefined> {
  try {
    return await readKeyFile(path);
  } catch (error) {
    if (error instanceof FileReadError && error.problem === 'absent') return undefined;
    throw error;
  }
}

/** Larger than a key of 16,384 bits. */
const keyFileBytesMax = 64 * 1024;

async function readKeyFile(path: string): Promise<string> {
  return (await readRegularFile(path, keyFileBytesMax)).toString('utf8');
}

/** Creates the file atomically; returns the text of the first creator. */
async function makeKey(path: string): Promise<string> {
  const { privateKey } = await generateKeyPair(algorithm, { extractable: true });
  const kid = systemRandomness.uuid();
  const jwk = { ...(await exportJWK(privateKey)), kid, alg: algorithm, use: 'sig' };
  const draft = `${path}.${systemRandomness.uuid()}`;
  try {
    await writeFile(draft, `${JSON.stringify(jwk)}\n`, { mode: privateFileMode, flag: 'wx' });
    await link(draft, path);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  } finally {
    await rm(draft, { force: true });
  }
  return readKeyFile(path);
}

function parseKey(text: string, path: string): JWK {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw unusable(path);
  }
  if (typeof value === 'object' && value !== null && isPrivateKey(value)) return value;
  throw unusable(path);
}

function isPrivateKey(value: object): value is JWK {
  return 'kty' in value && value.kty === 'RSA' && 'd' in value && typeof value.d === 'string';
}

function unusable(path: string): CommandFailure {
  return new CommandFailure(
    `${path} holds no private key of a local issuer. Delete it, and the next command makes another.`,
  );
}

/** The claims of a token. Times in seconds since 1970. */
export interface DevClaims {
  readonly issuer: string;
  readonly audience: string;
  readonly subject: string;
  readonly roles: readonly string[];
  readonly scopes: readonly string[];
  readonly issuedAt: number;
  readonly expires: number;
}

/** A tolerance for the clocks of containers. */
const notBeforeSeconds = 60;

/** A signed token with the claims of Entra tokens for the storage service. */
export function signDevToken({ key, keyId }: DevIssuer, claims: DevClaims): Promise<string> {
  const { issuer, audience, subject, roles, scopes, issuedAt, expires } = claims;
  return new SignJWT({
    ...(roles.length > 0 ? { roles: [...roles] } : {}),
    ...(scopes.length > 0 ? { scp: scopes.join(' ') } : {}),
    oid: subject,
    tid: devTenant,
    ver: '1.0',
  })
    .setProtectedHeader({ alg: algorithm, kid: keyId, typ: 'JWT' })
    .setIssuer(issuer)
    .setAudience(audience)
    .setSubject(subject)
    .setIssuedAt(issuedAt)
    .setNotBefore(issuedAt - notBeforeSeconds)
    .setExpirationTime(expires)
    .sign(key);
}
