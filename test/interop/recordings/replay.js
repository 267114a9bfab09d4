import { request as httpRequest } from 'node:http';
import { createServer, manualClock } from '../../../dist/src/app/index.js';
import { stateBefore } from './state-before.js';
import { sentBodyOf, learnReplacements, replaced } from './replacements.js';
import { testIssuer } from '../../../dist/test/support/oauth-issuer.js';
import { hasToken, owner, sharedKey, signedTarget } from './signing.js';

/** Headers of a recorded request that the replay makes anew. */
const remade = new Set([
  'authorization',
  'content-length',
  'host',
  'connection',
  'accept-encoding',
]);

/** One account, in a server whose clock goes by the dates of the requests. */
export async function replay(recording, visit) {
  const { interactions } = recording;
  const clock = manualClock(instantOf(interactions[0]) * 1000);
  const server = await createServer({
    inMemory: true,
    clock,
    accounts: [{ name: owner.account, keys: [owner.key] }],
    oauth: { issuer: issuer.issuer, jwks: issuer.jwks, allowHttp: true },
  });
  const replacements = new Map();
  const token = hasToken(recording) ? await tokenFor(interactions[0]) : undefined;
  try {
    for (const interaction of stateBefore(recording))
      await send(interaction, { server, replacements });
    const context = { server, replacements, token };
    for (const [index, interaction] of interactions.entries()) {
      clock.advanceMicros(Math.max(1000, instantOf(interaction) * 1000 - clock.nowMicros()));
      const answer = await send(interaction, context);
      learnReplacements(replacements, interaction.answer, answer);
      visit(index, interaction, answer);
    }
  } finally {
    await server.close();
  }
}

const issuer = await testIssuer();

/** A token that is good for as long as a recording took. */
function tokenFor(interaction) {
  const seconds = Math.floor(instantOf(interaction) / 1000);
  const roles = ['Storage Table Data Contributor'];
  return issuer.token({ roles, iat: seconds, nbf: seconds - 60, exp: seconds + 3600 });
}

/** When a request was sent, in milliseconds since 1970. */
function instantOf({ headers }) {
  return Date.parse(headers.get('x-ms-date') ?? headers.get('date') ?? '');
}

/** Sends a recorded request again; resolves with the answer in the form of a recorded one. */
function send(interaction, { server, replacements, token }) {
  const { method, host = '' } = interaction;
  const secondary = host.includes('-secondary.') ? '-secondary' : '';
  const headers = Object.fromEntries(
    [...interaction.headers]
      .filter(([name]) => !remade.has(name))
      .map(([name, value]) => [name, replaced(replacements, value)]),
  );
  const target = signedTarget(interaction, (text) => replaced(replacements, text));
  const body = Buffer.from(replaced(replacements, sentBodyOf(interaction)), 'utf8');
  headers.host = `${owner.account}${secondary}.table.core.windows.net`;
  if (body.length > 0 || method !== 'GET') headers['content-length'] = String(body.length);
  if (!target.includes('sig=')) {
    headers.authorization =
      token === undefined ? sharedKey({ method, target, headers, interaction }) : `Bearer ${token}`;
  }
  return exchange({ port: server.tablePort, method, path: target, headers }, body);
}

function exchange(options, body) {
  return new Promise((resolve, reject) => {
    const request = httpRequest({ host: '127.0.0.1', agent: false, ...options }, (response) => {
      const chunks = [];
      response.on('data', (chunk) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        resolve({
          status: response.statusCode,
          headers: new Map(Object.entries(response.headers)),
          body: Buffer.concat(chunks).toString('utf8'),
        });
      });
    });
    request.on('error', reject);
    request.end(body);
  });
}
