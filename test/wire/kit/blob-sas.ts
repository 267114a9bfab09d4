import { developmentAccount, developmentKey, signatureOf } from './signature.js';
import { lasting, type SasOwner, type SasParameters } from './sas.js';

// Written from blob-service §4.3 and §4.5 without code of the server, in the layout of 2020-12-06.

const before = ['sp', 'st', 'se'];
const delegation = ['skoid', 'sktid', 'skt', 'ske', 'sks', 'skv', 'saoid', 'suoid', 'scid'];
const after = ['ses', 'rscc', 'rscd', 'rsce', 'rscl', 'rsct'];

const developer: SasOwner = { account: developmentAccount, key: developmentKey };

/**
 * Signs for `resource`, `container` or `container/blob`, of the kind `sr`. A `snapshot` or
 * `versionid` among the fields is signed as the time of a snapshot or version. `owner.key` may be
 * the value of a user delegation key: its fields are signed when there are any.
 */
export function blobSas(
  resource: string,
  given: SasParameters,
  { account, key }: SasOwner = developer,
): SasParameters {
  const fields: SasParameters = { ...lasting, sr: 'c', ...given };
  const line = (field: string): string => fields[field] ?? '';
  const isDelegated = fields['skoid'] !== undefined;
  const text = [
    ...before.map(line),
    `/blob/${account}/${resource}`,
    ...(isDelegated ? delegation : ['si']).map(line),
    ...['sip', 'spr', 'sv', 'sr'].map(line),
    line('snapshot') || line('versionid'),
    ...after.map(line),
  ].join('\n');
  return { ...fields, sig: signatureOf(key, text) };
}
