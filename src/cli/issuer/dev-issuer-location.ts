import { join, resolve } from 'node:path';

/** The tenant of the local issuer, because clients expect one in challenges. */
export const devTenant = '7ab01a12-0000-4000-8000-000000000000';

/** The name of the local issuer. No server has this address, because `.invalid` is reserved. */
export const devIssuer = `https://dev-issuer.tabularium.invalid/${devTenant}/`;

export const defaultDevKeysFolder = './.tabularium-dev-issuer';

/** The default folder of the key. */
export function devKeysFolder(): string {
  return process.env['TABULARIUM_DEV_ISSUER'] || defaultDevKeysFolder;
}

/** The file with the public key, for the server. */
export function devJwksPath(folder: string): string {
  return join(resolve(folder), 'jwks.json');
}
