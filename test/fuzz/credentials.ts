import type { SimRandom } from '../support/sim-random.js';
import { sasQuery, type SasParameters } from '../wire/kit/sas.js';
import type { FuzzRequest } from './requests.js';
import type { Reach } from './reach.js';
import { accountToken, queueToken, tableToken, type SignedToken } from './signatures.js';
import { sayable, spliced } from './splice.js';
import type { BearerToken, Tokens } from './tokens.js';
import { delegatedToken } from './user-delegation.js';

export interface Credential {
  /** True when the final request is signed with the key of the account. */
  readonly isOwner: boolean;
  /** Added to the query string as it is; may be ''. */
  readonly query: string;
  readonly authorization: string | undefined;
  readonly reach: Reach;
  /** The table or queue that the signature is for, if any. */
  readonly container?: string | undefined;
  readonly kind: string;
}

const kinds = {
  owner: 55,
  nobody: 3,
  'service signature': 22,
  'account signature': 9,
  'token of a user': 9,
  'delegated signature': 2,
};

export function randomCredential(
  random: SimRandom,
  service: FuzzRequest['service'],
  tokens: Tokens,
): Credential {
  const kind = random.weighted(kinds);
  const plain = { kind, isOwner: false, query: '', authorization: undefined } as const;
  switch (kind) {
    case 'owner':
      return { ...plain, isOwner: true, reach: 'all' };
    case 'nobody':
      return { ...plain, reach: 'none' };
    case 'token of a user': {
      const token = random.pick(random.chance(0.5) ? tokens.good : tokens.bearers);
      return { ...plain, authorization: bearer(random, token), reach: token.reach };
    }
    case 'service signature':
      return signatureOf(random, kind, serviceToken(random, service));
    case 'account signature':
      return signatureOf(random, kind, accountToken(random));
    default:
      return signatureOf(random, kind, delegatedToken(random, tokens.delegationKey));
  }
}

/** Sometimes for the other service. */
function serviceToken(random: SimRandom, service: FuzzRequest['service']): SignedToken {
  const isOfTables = random.chance(0.97) === (service === 'table');
  return isOfTables ? tableToken(random) : queueToken(random);
}

function bearer(random: SimRandom, { text }: BearerToken): string {
  if (random.chance(0.7)) return `Bearer ${text}`;
  const scheme = random.pick(['Bearer', 'bearer', 'BEARER', 'Bearer ', 'Bearer,', 'Basic', '']);
  const pieces = ['.', '..', '=', '-', '_', 'A', '"', ',', ' ', 'é', 'eyJhbGciOiJub25lIn0'];
  return `${scheme} ${random.chance(0.7) ? spliced(random, text, pieces) : text}`;
}

function signatureOf(random: SimRandom, kind: string, token: SignedToken): Credential {
  const { fields, reach, container } = token;
  const text = sasQuery(random.chance(0.2) ? mutatedFields(random, fields) : fields);
  const query = random.chance(0.1) ? tricked(random, text) : text;
  return { kind, isOwner: false, query, authorization: undefined, reach, container };
}

const fieldValues = [
  '',
  'raud',
  'rwdlacup',
  'x',
  '2099-12-31',
  '0001-01-01T00:00:00Z',
  '9999-12-31T23:59:59.9999999Z',
  '2015-04-05',
  '2012-02-12',
  '2099-01-01',
  'https',
  'http,https',
  '0.0.0.0-255.255.255.255',
  '10.0.0.1',
  '::1',
  'zzzz',
  '\u0000',
  '\n',
  'é',
  '\u{10FFFF}',
  'x'.repeat(3000),
  'tbqf',
  'sco',
  'AAAA',
];
const fieldNames =
  'sv sp st se si sip spr sig tn spk srk epk erk ss srt ses sr skoid sktid skt ske sks skv api-version'.split(
    ' ',
  );

/** Changed after signing, so that it must not allow more than what was signed. */
function mutatedFields(random: SimRandom, fields: SasParameters): SasParameters {
  const name = random.pick(random.chance(0.6) ? Object.keys(fields) : fieldNames);
  const before = fields[name] ?? '';
  switch (random.weighted({ drop: 2, value: 4, splice: 2, name: 1 })) {
    case 'drop':
      return { ...fields, [name]: undefined };
    case 'value':
      return { ...fields, [name]: random.pick(fieldValues) };
    case 'splice':
      return { ...fields, [name]: sayable(spliced(random, before, fieldValues)) };
    default:
      return { ...fields, [name]: undefined, [name.toUpperCase()]: before };
  }
}

const queryPieces = [
  '&',
  '&&',
  '=',
  ';',
  '+',
  '%',
  '%2',
  '%00',
  '%0A',
  '%26',
  '%3D',
  '%FF',
  '%2525',
  '&sig=',
  '&Sig=AAAA',
  '&%73ig=AAAA',
  '&sp=raud',
  '&%73p=raud',
  '&tn=Guarded',
  '&spk=',
  '&spk=vault&epk=vault',
  '&si=policy',
  '&se=2099-01-01',
  '&ss=t&srt=sco',
  '&sv=2019-02-02',
  '&api-version=2019-02-02',
  '&comp=acl',
  '#',
];

/** The same text, or nearly, in another encoding. */
function tricked(random: SimRandom, text: string): string {
  switch (random.weighted({ splice: 5, twice: 2, encode: 2, decode: 2 })) {
    case 'splice':
      return spliced(random, text, queryPieces);
    case 'twice': {
      const parts = text.split('&');
      return [...parts, random.pick(parts)].join('&');
    }
    case 'encode': {
      const parts = text.split('&');
      const at = random.int(parts.length);
      return parts.map((part, index) => (index === at ? escapedWhole(part) : part)).join('&');
    }
    default:
      return text.replace(/%(?:2F|3A|2B|3D|2C)/g, decodeURIComponent);
  }
}

/** Percent-encodes every byte of the value and the name. */
function escapedWhole(part: string): string {
  const escape = (value: string) =>
    Buffer.from(value)
      .toString('hex')
      .replace(/../g, (byte) => `%${byte}`);
  return part
    .split('=')
    .map((piece) => escape(piece))
    .join('=');
}
