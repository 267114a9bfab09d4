import { authorizationOf } from '../../../dist/test/wire/kit/signature.js';
import { accountSas, sasQuery, tableSas } from '../../../dist/test/wire/kit/sas.js';

/** The account of the replay. */
export const owner = {
  account: 'recorded',
  key: Buffer.from('a key that only replays are signed with').toString('base64'),
};

const fieldsOfTables = [
  'st',
  'se',
  'sp',
  'sip',
  'spr',
  'sv',
  'si',
  'tn',
  'spk',
  'srk',
  'epk',
  'erk',
];
const fieldsOfAccounts = ['st', 'se', 'sp', 'sip', 'spr', 'sv', 'ss', 'srt'];

/** A request that the cloud refused to know is signed with another key again. */
function signerOf({ answer }) {
  const isRefused = answer.status === 403 && answer.body.includes('AuthenticationFailed');
  return isRefused ? { ...owner, key: Buffer.from('another key').toString('base64') } : owner;
}

/** Path and query, with a signature made anew where the recording has one without its value. */
export function signedTarget(interaction, replace) {
  const { path, query } = interaction;
  const given = query === '' ? [] : query.split('&');
  const options = given.map((option) => [option.split('=', 1)[0] ?? '', option]);
  const isSigned = options.some(([name]) => name === 'sig');
  if (!isSigned) return encoded(replace(query === '' ? path : `${path}?${query}`));
  const isOfAccount = options.some(([name]) => name === 'ss');
  const names = isOfAccount ? fieldsOfAccounts : fieldsOfTables;
  const fields = Object.fromEntries(
    options
      .filter(([name]) => names.includes(name))
      .map(([name, option]) => [name, decodeURIComponent(option.slice(name.length + 1))]),
  );
  if (fields.st !== undefined) fields.st = '2000-01-01T00:00:00Z';
  if (fields.se !== undefined) fields.se = '2099-01-01T00:00:00Z';
  // A field that the stored policy gives must not be in the signature.
  else fields.se = undefined;
  const token = (isOfAccount ? accountSas : tableSas)(fields, signerOf(interaction));
  const others = options.filter(([name]) => name !== 'sig' && !names.includes(name));
  const all = [...others.map(([, option]) => replace(option)), sasQuery(token)];
  return encoded(`${path}?${all.join('&')}`);
}

/** Recordings have characters of URIs decoded that no request line may have. */
function encoded(target) {
  return target.replaceAll(/[^\x21-\x7e]/gu, (character) => encodeURIComponent(character));
}

/** Recordings whose requests had a bearer token. */
export function hasToken({ name }) {
  return name.includes('_aad');
}

export function sharedKey({ method, target, headers, interaction }) {
  return authorizationOf({
    ...signerOf(interaction),
    scheme: 'SharedKey',
    method,
    target,
    date: headers['x-ms-date'] ?? headers.date,
    contentMd5: headers['content-md5'],
    contentType: headers['content-type'],
  });
}
