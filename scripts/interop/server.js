import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SignJWT, exportJWK, generateKeyPair } from 'jose';
import { createServer } from '../../dist/src/app/index.js';

const issuer = 'https://issuer.interop.example/';
const roles = [
  'Storage Table Data Contributor',
  'Storage Queue Data Contributor',
  'Storage Blob Data Contributor',
];
/** Whose the token is: user delegation keys name it. */
const identity = {
  oid: '11111111-2222-4333-8444-555555555555',
  tid: '66666666-7777-4888-9999-aaaaaaaaaaaa',
};

/** The keys of an issuer, and a token that it has signed for an hour. */
async function makeIssuer() {
  const { publicKey, privateKey } = await generateKeyPair('ES256');
  const token = await new SignJWT({ roles, ...identity })
    .setProtectedHeader({ alg: 'ES256' })
    .setIssuer(issuer)
    .setAudience('https://storage.azure.com')
    .setIssuedAt()
    .setNotBefore('0s')
    .setExpirationTime('1h')
    .sign(privateKey);
  return { jwks: { keys: [{ ...(await exportJWK(publicKey)), alg: 'ES256' }] }, token };
}

/** The database of a run over PostgreSQL (`npm run test:postgres -- --interop`). */
const postgresUrl = process.env.TABULARIUM_TEST_POSTGRES;
let schemas = 0;

/** Where a server keeps its data: in the database of such a run, else as `usual` says. */
function dataIn(folder, usual) {
  if (postgresUrl === undefined) return usual;
  schemas += 1;
  return { location: folder, postgresUrl, postgresSchema: `interop ${schemas}` };
}

/**
 * Starts one server that speaks http, with a data directory, and one that speaks https and takes
 * bearer tokens. `settings` are the environment variables by which programs find them.
 */
export async function startServers() {
  const folder = mkdtempSync(join(tmpdir(), 'tabularium-interop-'));
  const { jwks, token } = await makeIssuer();
  const plain = await createServer(
    dataIn(join(folder, 'plain'), { location: join(folder, 'data') }),
  );
  const secure = await createServer({
    ...dataIn(join(folder, 'secure'), { inMemory: true }),
    tls: 'self-signed',
    oauth: { issuer, jwks },
  });
  const certificate = join(folder, 'certificate.pem');
  writeFileSync(certificate, secure.certificate);
  return {
    settings: {
      TABULARIUM_CONNECTION_STRING: plain.connectionString(),
      TABULARIUM_TLS_CONNECTION_STRING: secure.connectionString(),
      TABULARIUM_CA: certificate,
      TABULARIUM_TOKEN: token,
    },
    async close() {
      await Promise.all([plain.close(), secure.close()]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
