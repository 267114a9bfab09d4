import { developmentAccount, developmentKey, signatureOf } from './signature.js';

/** The query parameters of a signature by name, as a client would write them. */
export type SasParameters = Readonly<Record<string, string | undefined>>;

export interface SasOwner {
  readonly account: string;
  readonly key: string;
}

const developer: SasOwner = { account: developmentAccount, key: developmentKey };

/** Fields of a token that does not expire during tests. */
export const lasting = { sv: '2021-12-02', se: '2099-01-01T00:00:00Z' } as const;

/** `name=value&…` without a question mark. */
export function sasQuery(parameters: SasParameters): string {
  return Object.entries(parameters)
    .flatMap(([name, value]) =>
      value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`],
    )
    .join('&');
}

/** Signs for a table, with the lines of table-service §8.3. */
export function tableSas(fields: SasParameters, owner: SasOwner = developer): SasParameters {
  const { tn = '' } = fields;
  return signed(fields, owner, ['table', tn.toLowerCase()], ['spk', 'srk', 'epk', 'erk']);
}

/** Signs for a queue, with the lines of queue-service §4.3. */
export function queueSas(
  queue: string,
  fields: SasParameters,
  owner: SasOwner = developer,
): SasParameters {
  return signed(fields, owner, ['queue', queue], []);
}

function signed(
  given: SasParameters,
  { account, key }: SasOwner,
  [service, name]: readonly [string, string],
  last: readonly string[],
): SasParameters {
  const fields = { ...lasting, ...given };
  const sv = fields.sv ?? '';
  const resource = sv >= '2015-02-21' ? `/${service}/${account}/${name}` : `/${account}/${name}`;
  const line = (field: string): string => (fields as SasParameters)[field] ?? '';
  const text = [
    ...['sp', 'st', 'se'].map(line),
    resource,
    ...(sv >= '2015-04-05' ? ['si', 'sip', 'spr', 'sv'] : ['si', 'sv']).map(line),
    ...last.map(line),
  ].join('\n');
  return { ...fields, sig: signatureOf(key, text) };
}

/** Signs for an account, with the lines of table-service §8.4. */
export function accountSas(given: SasParameters, owner: SasOwner = developer): SasParameters {
  const fields: SasParameters = { ...lasting, ...given };
  const names = ['sp', 'ss', 'srt', 'st', 'se', 'sip', 'spr', 'sv'];
  if ((fields['sv'] ?? '') >= '2020-12-06') names.push('ses');
  const lines = [owner.account, ...names.map((name) => fields[name] ?? '')];
  return { ...fields, sig: signatureOf(owner.key, lines.map((each) => `${each}\n`).join('')) };
}

/** A path with a token as query string. */
export function withSas(path: string, token: SasParameters): string {
  return `${path}${path.includes('?') ? '&' : '?'}${sasQuery(token)}`;
}
