import type { UserDelegationQueueSas } from '../../src/wire/auth/sas/fields.js';
import { signature } from '../../src/wire/auth/shared-key/hmac-signature.js';
import {
  signAccountSas,
  signQueueSas,
  signTableSas,
  type SasSigner,
} from '../../src/wire/auth/sas/sas-signature.js';
import { sasStringToSign, type Unsigned } from '../../src/wire/auth/sas/string-to-sign-sas.js';
import { userDelegationKeyValue } from '../../src/wire/auth/sas/user-delegation-key.js';
import { createSecretKey } from 'node:crypto';
import { bearerIdentity, type BenchIssuer } from './bench-issuer.js';
import { policies, policyId } from './hostile-documents.js';
import { filled, type HostileRequest, type PlainRequest } from './hostile-request.js';
import { idleQueue, smallEntity, smallTable } from './world.js';

const version = '2025-07-05';
const expiry = '2099-01-01T00:00:00Z';
const farExpiry = encodeURIComponent(expiry);
const badSignature = encodeURIComponent('A'.repeat(43) + '=');
const messages = `/${idleQueue}/messages?peekonly=true`;
const rows = `/${smallTable}()`;
/** Longest text that one field of a signature can have in a header of 64 KiB. */
const long = (character: string): string => character.repeat(55_000);
const manyParameters = filled(58_000, '&', (place) => `p${place}=%41`);

type Service = HostileRequest['service'];

function get(operation: string, what: string, service: Service, path: string): HostileRequest {
  return { operation, what, service, method: 'GET', path, sender: 'as-it-is' };
}

/** Header fields of its own that a signature over all `x-ms-` fields has to sort. */
const manyHeaders = Object.fromEntries(
  filled(9_000, ' ', (place) => `x-ms-${place.toString(36)}`)
    .split(' ')
    .map((name) => [name, 'a  b'.repeat(4)]),
);

const byKey: readonly HostileRequest[] = [
  {
    ...get('SharedKey', 'most parameters, on a table', 'table', `${smallEntity}?${manyParameters}`),
    sender: 'SharedKey',
  },
  {
    ...get(
      'SharedKey',
      'most headers and parameters to sort',
      'queue',
      `${messages}&${filled(20_000, '&', (place) => `p${place}=1`)}`,
    ),
    headers: manyHeaders,
    sender: 'SharedKey',
  },
  {
    ...get('SharedKeyLite', 'most parameters', 'table', `${smallEntity}?${manyParameters}`),
    sender: 'SharedKeyLite',
  },
  {
    ...get('SharedKeyLite', 'most headers to sort', 'queue', messages),
    headers: manyHeaders,
    sender: 'SharedKeyLite',
  },
];

function delegationSas(signer: SasSigner, issuer: string): string {
  const start = new Date(Date.now() - 3_600_000).toISOString().replace(/\.\d+Z$/, 'Z');
  const end = new Date(Date.now() + 24 * 3_600_000).toISOString().replace(/\.\d+Z$/, 'Z');
  const delegationKey = {
    objectId: bearerIdentity.oid,
    tenantId: bearerIdentity.tid,
    start,
    expiry: end,
    service: 'q',
    version,
  };
  const permissions = long('r');
  const sas: Unsigned<UserDelegationQueueSas> = {
    kind: 'user-delegation-queue-sas',
    version,
    permissions,
    expiry: end,
    delegationKey,
  };
  const value = userDelegationKeyValue(
    signer.key,
    { account: signer.name, issuer, grants: 'raup' },
    delegationKey,
  );
  const sig = signature(
    createSecretKey(value),
    sasStringToSign(sas, signer.name, { container: idleQueue }),
  );
  return new URLSearchParams({
    sv: version,
    sr: 'q',
    sp: permissions,
    se: end,
    skoid: delegationKey.objectId,
    sktid: delegationKey.tenantId,
    skt: start,
    ske: end,
    sks: 'q',
    skv: version,
    sig,
  }).toString();
}

function bySignature(signer: SasSigner, issuer: string): readonly HostileRequest[] {
  const account = signAccountSas(
    {
      version,
      services: 'tq',
      resourceTypes: 'sco',
      permissions: 'r',
      expiry,
      encryptionScope: long('e'),
    },
    signer,
  );
  const key = 'k'.repeat(13_000);
  const range = {
    startPartitionKey: 'a',
    startRowKey: key,
    endPartitionKey: `z${key}`,
    endRowKey: key,
  };
  const table = { version, table: smallTable, ...range } as const;
  const ranged = signTableSas({ ...table, permissions: 'r', expiry }, signer);
  const stored = signTableSas({ ...table, identifier: policyId(4) }, signer);
  const queue = signQueueSas({ version, permissions: long('r'), expiry }, idleQueue, signer);
  const storedOfQueue = signQueueSas({ version, identifier: policyId(4) }, idleQueue, signer);
  const policiesOf = (service: Service, path: string, letters: string): PlainRequest => {
    return { service, method: 'PUT', path: `${path}?comp=acl`, body: policies(letters) };
  };
  return [
    get('account SAS', 'the longest field, on a table', 'table', `${smallEntity}?${account}`),
    get('account SAS', 'the longest field, on a queue', 'queue', `${messages}&${account}`),
    get('service SAS', 'the longest range of keys', 'table', `${rows}?${ranged}`),
    get('service SAS', 'most permissions, on a queue', 'queue', `${messages}&${queue}`),
    {
      ...get('stored policy', 'the last of five, the longest range', 'table', `${rows}?${stored}`),
      before: [policiesOf('table', `/${smallTable}`, 'raud')],
    },
    {
      ...get(
        'stored policy',
        'the last of five, most parameters',
        'queue',
        `${messages}&${storedOfQueue}&${manyParameters}`,
      ),
      before: [policiesOf('queue', `/${idleQueue}`, 'raup')],
    },
    get(
      'user delegation SAS',
      'most permissions',
      'queue',
      `${messages}&${delegationSas(signer, issuer)}`,
    ),
  ];
}

/** A token has 16,384 characters, and 100 roles of up to 256. */
const rolesMax = 100;
const roleCharacters = 110;

/** The largest accepted token: a new one each time, so that none is cached. */
async function byToken(issuer: BenchIssuer): Promise<readonly HostileRequest[]> {
  const roles = Array.from({ length: rolesMax - 2 }, (_, place) =>
    `role-${place}-`.padEnd(roleCharacters, 'x'),
  );
  const real = ['Storage Table Data Contributor', 'Storage Queue Data Contributor'];
  const bearer = async (): Promise<Record<string, string>> => {
    return { authorization: `Bearer ${await issuer.token([...roles, ...real])}` };
  };
  const garbled = {
    authorization: `${((await bearer())['authorization'] ?? '').slice(0, -8)}AAAAAAAA`,
  };
  return [
    {
      ...get('bearer token', 'most roles, on a table', 'table', smallEntity),
      freshHeaders: bearer,
    },
    { ...get('bearer token', 'most roles, on a queue', 'queue', messages), freshHeaders: bearer },
    {
      ...get('bearer token', 'most roles, wrongly signed', 'table', smallEntity),
      headers: garbled,
    },
    {
      ...get('bearer token', 'longer than tokens may be', 'table', smallEntity),
      headers: { authorization: `Bearer ${long('A')}` },
    },
  ];
}

/** Invalid credentials, which any client can send, each at its largest. */
const refused: readonly HostileRequest[] = [
  get('no credential', 'most parameters', 'table', `${smallEntity}?${manyParameters}`),
  {
    ...get('wrong SharedKeyLite', 'the longest path', 'table', `/${'%41'.repeat(20_000)}`),
    headers: {
      authorization: `SharedKeyLite devstoreaccount1:${'A'.repeat(43)}=`,
      'x-ms-date': new Date().toUTCString(),
    },
  },
  get(
    'wrong account SAS',
    'the longest field',
    'queue',
    `${messages}&sv=${version}&ss=q&srt=sco&sp=${long('r')}&se=${farExpiry}&sig=${badSignature}`,
  ),
  get(
    'wrong service SAS',
    'the longest range of keys',
    'table',
    `${rows}?sv=${version}&tn=${smallTable}&sp=r&se=${farExpiry}&spk=${'%41'.repeat(18_000)}&sig=${badSignature}`,
  ),
  get(
    'wrong stored policy',
    'the longest name',
    'table',
    `${rows}?sv=${version}&tn=${smallTable}&si=${long('x')}&sig=${badSignature}`,
  ),
  get(
    'wrong user delegation SAS',
    'the longest field',
    'queue',
    `${messages}&sv=${version}&sr=q&sp=r&se=${farExpiry}&skoid=${long('x')}&sktid=t&skt=${farExpiry}&ske=${farExpiry}&sks=q&skv=${version}&sig=${badSignature}`,
  ),
];

/** Each kind of credential at its largest: the valid ones, then the invalid ones. */
export async function hostileCredentials(
  signer: SasSigner,
  issuer: BenchIssuer,
): Promise<readonly HostileRequest[]> {
  return [...byKey, ...bySignature(signer, issuer.issuer), ...(await byToken(issuer)), ...refused];
}
