import { filled, type HostileRequest } from './hostile-request.js';
import { bigTable, queueName } from './world.js';

const far = '2099-01-01T00%3A00%3A00Z';
const signature = encodeURIComponent('A'.repeat(43) + '=');
const tablePath = `/devstoreaccount1/${bigTable}()`;
const queuePath = `/devstoreaccount1/${queueName}/messages`;

function presented(
  operation: string,
  what: string,
  request: Pick<HostileRequest, 'service' | 'path' | 'headers'>,
): HostileRequest {
  return { operation, what, method: 'GET', unsigned: true, ...request };
}

function bearer(): string {
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const claims = { aud: 'https://storage.azure.com', x: 'y'.repeat(40_000) };
  return `${part({ alg: 'RS256', kid: 'k', typ: 'JWT' })}.${part(claims)}.${'A'.repeat(342)}`;
}

/** Each kind of credential at its largest, none of them valid: anybody can send these. */
export const hostileCredentials: readonly HostileRequest[] = [
  presented('no credential', 'most parameters', {
    service: 'table',
    path: `${tablePath}?${filled(60_000, '&', (place) => `p${place}=%41`)}`,
  }),
  presented('SharedKeyLite', 'the longest path', {
    service: 'table',
    path: `/devstoreaccount1/${'%41'.repeat(20_000)}`,
    headers: {
      authorization: `SharedKeyLite devstoreaccount1:${'A'.repeat(43)}=`,
      'x-ms-date': new Date().toUTCString(),
    },
  }),
  presented('SharedKey', 'most headers to sort', {
    service: 'queue',
    path: `${queuePath}?${filled(20_000, '&', (place) => `p${place}=1`)}`,
    headers: {
      ...Object.fromEntries(
        filled(9_000, ' ', (place) => `x-ms-${place}`)
          .split(' ')
          .map((name) => [name, 'a  b'.repeat(4)]),
      ),
      authorization: `SharedKey devstoreaccount1:${'A'.repeat(43)}=`,
      'x-ms-date': new Date().toUTCString(),
    },
  }),
  presented('account SAS', 'the longest fields', {
    service: 'queue',
    path: `${queuePath}?sv=2021-12-02&ss=q&srt=sco&sp=${'r'.repeat(50_000)}&se=${far}&sig=${signature}`,
  }),
  presented('service SAS', 'the longest range of keys', {
    service: 'table',
    path: `${tablePath}?sv=2021-12-02&tn=${bigTable}&sp=r&se=${far}&spk=${'%41'.repeat(18_000)}&sig=${signature}`,
  }),
  presented('stored policy', 'the longest name', {
    service: 'table',
    path: `${tablePath}?sv=2021-12-02&tn=${bigTable}&si=${'x'.repeat(55_000)}&sig=${signature}`,
  }),
  presented('user delegation SAS', 'the longest fields', {
    service: 'queue',
    path: `${queuePath}?sv=2025-07-05&sr=q&sp=r&se=${far}&skoid=${'x'.repeat(50_000)}&sktid=t&skt=${far}&ske=${far}&sks=q&skv=2025-07-05&sig=${signature}`,
  }),
  presented('bearer token', 'the longest claims', {
    service: 'queue',
    path: queuePath,
    headers: { authorization: `Bearer ${bearer()}`, 'x-ms-version': '2025-07-05' },
  }),
];
