import type { SimRandom } from '../support/sim-random.js';
import {
  accountSas,
  lasting,
  queueSas,
  tableSas,
  type SasOwner,
  type SasParameters,
} from '../wire/kit/sas.js';
import { developmentAccount, developmentKey } from '../wire/kit/signature.js';
import type { Reach } from './reach.js';
import {
  guardedPolicy,
  guardedQueue,
  guardedRows,
  guardedTable,
  openRange,
  otherAccount,
} from './guarded.js';
import { fuzzQueues } from './queue-requests.js';
import { fuzzTables } from './requests.js';
import { sayable, spliced } from './splice.js';

/** A valid signature over its own fields, however unusual these are. */
export interface SignedToken {
  readonly fields: SasParameters;
  readonly reach: Reach;
  /** The table or queue that it is for, if any. */
  readonly container?: string;
}

const versions = [lasting.sv, lasting.sv, '2012-02-12', '2015-02-21', '2015-04-05', '2019-02-02'];
const goodTerms: readonly SasParameters[] = [
  {},
  {},
  { st: '2020-01-01' },
  { sip: '127.0.0.1', sv: lasting.sv },
  { sip: '0.0.0.0-255.255.255.255', sv: lasting.sv },
  { spr: 'https,http', sv: lasting.sv },
];
const badTerms: readonly SasParameters[] = [
  { se: '2020-01-01' },
  { sip: '10.0.0.1' },
  { spr: 'https' },
  { st: '2090-01-01T00:00Z' },
  { sv: '2099-01-01' },
];
const pieces = [
  '',
  '\u0000',
  '\n',
  ' ',
  "'",
  '/',
  '\\',
  'é',
  '\uffff',
  '🙂',
  'zz',
  '0',
  'n',
  'vault',
];

/** For the guarded table, within a range without guarded rows; or for another table. */
export function tableToken(random: SimRandom): SignedToken {
  const sp = random.pick(['r', 'raud', 'au', 'd', 'raud', 'raud']);
  const more = random.chance(0.15)
    ? { si: guardedPolicy, sp: undefined, se: undefined, sv: lasting.sv }
    : { sp, sv: random.pick(versions), ...termsOf(random) };
  const range = random.chance(0.5) ? openRange : strangeRange(random);
  const isOfOpenRows = !reachesGuarded(range);
  const container = isOfOpenRows && random.chance(0.7) ? guardedTable : random.pick(fuzzTables);
  const fields = strange(random, { ...more, ...range, tn: spelled(random, container) });
  return { fields: tableSas(fields, ownerOf(random)), reach: 'none', container };
}

export function queueToken(random: SimRandom): SignedToken {
  const isToAdd = random.chance(0.3);
  const container = isToAdd ? guardedQueue : random.pick(fuzzQueues);
  const sp = isToAdd ? 'a' : random.pick(['raup', 'raup', 'r', 'p']);
  const fields = { sp, ...termsOf(random) };
  const signed = queueSas(container, isToAdd ? fields : strange(random, fields), ownerOf(random));
  return { fields: signed, reach: 'none', container };
}

function termsOf(random: SimRandom): SasParameters {
  return random.pick(random.chance(0.85) ? goodTerms : badTerms);
}

export function accountToken(random: SimRandom): SignedToken {
  const [fields, reach] = random.pick<readonly [SasParameters, Reach]>([
    ...Array.from({ length: 6 }, () => [{ ss: 'tq', srt: 'sco', sp: 'rwdlacup' }, 'all'] as const),
    [{ ss: 'tq', srt: 'sco', sp: 'rl' }, 'see'],
    [{ ss: 'tq', srt: 'o', sp: 'r' }, 'see'],
    // May create containers, but not read their contents.
    [{ ss: 'tq', srt: 'c', sp: 'lc' }, 'see'],
    [{ ss: 'bf', srt: 'sco', sp: 'rwdlacup' }, 'none'],
    // Lists of queues show their metadata.
    [{ ss: 'tq', srt: 's', sp: 'rwdlacup' }, 'see'],
    [{ ss: 'tq', srt: 'sco', sp: 'rwdlacup', se: '2020-01-01' }, 'none'],
    [{ ss: 'tq', srt: 'sco', sp: 'rwdlacup', sip: '10.0.0.1' }, 'none'],
    [{ ss: 'tq', srt: 'sco', sp: 'rwdlacup', spr: 'https' }, 'none'],
  ]);
  const signed = reach === 'all' ? strange(random, fields) : fields;
  return { fields: accountSas(signed, ownerOf(random)), reach };
}

/** A signature for another account's name is not valid here. */
function ownerOf(random: SimRandom): SasOwner {
  const account = random.chance(0.97) ? developmentAccount : otherAccount;
  return { account, key: developmentKey };
}

function spelled(random: SimRandom, name: string): string {
  return random.pick([name, name, name.toLowerCase(), name.toUpperCase()]);
}

/** Changes one field before signing. Ranges and names are changed by other functions. */
function strange(random: SimRandom, fields: SasParameters): SasParameters {
  if (random.chance(0.8)) return fields;
  const name = random.pick(['sv', 'sp', 'st', 'se', 'sip', 'spr']);
  const value = spliced(random, fields[name] ?? '', [...pieces, 'raud', '-', ':', '2030', '.']);
  return { ...fields, [name]: sayable(value) };
}

function strangeRange(random: SimRandom): SasParameters {
  const keys = ['', 'own', 'p', 'q', 'm', 'a', 'a-vault', 'vault', 'zz', '\uffff', 'x'.repeat(600)];
  const bound = (): string | undefined => {
    if (random.chance(0.3)) return undefined;
    const key = random.pick(keys);
    return random.chance(0.3) ? sayable(spliced(random, key, pieces)) : key;
  };
  return { spk: bound(), srk: bound(), epk: bound(), erk: bound() };
}

/** True when a guarded key may be in the range; written from table-service §8.3. */
export function reachesGuarded({ spk = '', epk = '', erk = '' }: SasParameters): boolean {
  // An absent or empty bound does not limit. The guarded rows of a partition extend to its end.
  return guardedRows.some(({ partition, from }) => {
    const isBehind = spk > partition;
    const isBefore =
      epk !== '' && (epk < partition || (epk === partition && erk !== '' && erk < from));
    return !isBehind && !isBefore;
  });
}
