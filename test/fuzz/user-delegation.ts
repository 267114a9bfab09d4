import assert from 'node:assert/strict';
import type { SimRandom } from '../support/sim-random.js';
import type { QueueWireClient } from '../wire/kit/queue-client.js';
import type { SasParameters } from '../wire/kit/sas.js';
import { developmentAccount, signatureOf } from '../wire/kit/signature.js';
import { keyInfoXml } from './documents.js';
import { fuzzQueues } from './queue-requests.js';
import type { SignedToken } from './signatures.js';

const version = '2025-07-05';

/** A user delegation key from the service: the fields for signatures, and its secret. */
export interface DelegationKey {
  readonly fields: SasParameters;
  /** Base64. */
  readonly value: string;
}

/** Requests a key with the token. */
export async function delegationKeyFor(
  client: QueueWireClient,
  token: string,
): Promise<DelegationKey> {
  const { text } = await client.expect(200, {
    method: 'POST',
    path: '/?restype=service&comp=userdelegationkey',
    auth: 'none',
    version,
    headers: { Authorization: `Bearer ${token}` },
    body: keyInfoXml(new Date(Date.now() + 24 * 3_600_000).toISOString()),
  });
  const one = (name: string): string => {
    const value = new RegExp(`<${name}>([^<]+)<`).exec(text)?.[1];
    assert.ok(value !== undefined, `${name} is not in ${text}`);
    return value;
  };
  const fields = {
    skoid: one('SignedOid'),
    sktid: one('SignedTid'),
    skt: one('SignedStart'),
    ske: one('SignedExpiry'),
    sks: one('SignedService'),
    skv: one('SignedVersion'),
  };
  return { fields, value: one('Value') };
}

/** A signature for a queue by a user delegation key (queue-service §4.5). */
export function delegatedToken(random: SimRandom, key: DelegationKey): SignedToken {
  const base = {
    ...key.fields,
    ...(random.chance(0.1) ? { skoid: 'somebody-else' } : {}),
    ...(random.chance(0.1) ? { ske: '2090-01-01T00:00:00Z' } : {}),
  };
  const fields: SasParameters = {
    sv: version,
    sr: 'q',
    sp: random.pick(['raup', 'r', 'a']),
    se: '2089-01-01T00:00:00Z',
    ...(random.chance(0.1) ? { sduoid: 'somebody' } : {}),
    ...base,
  };
  const line = (name: string): string => fields[name] ?? '';
  const container = random.pick(fuzzQueues);
  const resource = `/queue/${developmentAccount}/${container}`;
  const text = [
    ...['sp', 'st', 'se'].map(line),
    resource,
    ...['skoid', 'sktid', 'skt', 'ske', 'sks', 'skv', 'skdutid', 'sduoid'].map(line),
    ...['sip', 'spr', 'sv'].map(line),
  ].join('\n');
  return { fields: { ...fields, sig: signatureOf(key.value, text) }, reach: 'none', container };
}
