import { join, resolve } from 'node:path';

/** The tenant of the local issuer: clients look for one in challenges. */
export const devTenant = '7ab01a12-0000-4000-8000-000000000000';

/** Names the local issuer; nothing answers there, because `.invalid` can be nobody's. */
export const devIssuer = `https://dev-issuer.tabularium.invalid/${devTenant}/`;

export const defaultDevKeysFolder = './.tabularium-dev-issuer';

/** Where the key is kept, as far as no option says otherwise. */
export function devKeysFolder(): string {
  return process.env['TABULARIUM_DEV_ISSUER'] || defaultDevKeysFolder;
}

/** The file with the public key, as a server is given it. */
export function devJwksPath(folder: string): string {
  return join(resolve(folder), 'jwks.json');
}
