import { unreachable } from '../../src/base/invariant.js';
import type { SimRandom } from '../support/sim-random.js';
import type { ExactJson } from './exact-json.js';

/** A value that `<` orders as the service orders its type (table-service §5.4). */
export type Comparable = string | number | bigint | boolean;

/** A typed value, its JSON in requests and in responses (table-service §2.5, §4.3). */
export interface SimValue {
  readonly type: SimType;
  readonly comparable: Comparable;
  /** JSON text of the value in a request. */
  readonly sent: string;
  /** True when the request has a type annotation; some types need one. */
  readonly annotateSent: boolean;
  /** The JSON string of responses; undefined for a number, `true` or `false`. */
  readonly text?: string;
}

export const simTypes = [
  'Edm.String',
  'Edm.Int32',
  'Edm.Int64',
  'Edm.Double',
  'Edm.Boolean',
  'Edm.DateTime',
  'Edm.Guid',
  'Edm.Binary',
] as const;
export type SimType = (typeof simTypes)[number];

const strings = [
  '',
  'a',
  'b',
  'B',
  'bB',
  "it's",
  '"quoted"\\',
  'tab\tand\u0001control',
  '--changeset_8a28b620',
  '日本語',
  '\ue000',
  '\uffff',
  '😀',
  '\ud83d',
  'W/"x"',
  '{"a":1}',
];
const int32s = [-(2 ** 31), -1, 0, 1, 3, 7, 2 ** 31 - 1];
const int64s = [
  -(2n ** 63n),
  -(2n ** 53n) - 1n,
  -1n,
  0n,
  3n,
  2n ** 31n,
  2n ** 53n + 1n,
  2n ** 63n - 1n,
];
// Without 2^53 and 2^63: it is not known whether an Int64 literal near them is widened or compared
// exactly.
const doubles = [
  -Infinity,
  -1.797693134862315e308,
  -3.5,
  -1,
  0,
  5e-324,
  0.1,
  3,
  1e15,
  123_456_789_012_345_680,
  1e21,
  1e300,
  1.797693134862315e308,
  Infinity,
  NaN,
];
const dates = [
  '1601-01-01T00:00:00.0000000',
  '1969-12-31T23:59:59.9999999',
  '1970-01-01T00:00:00.0000000',
  '2000-02-29T12:00:00.1234567',
  '2024-05-05T05:05:05.2000000',
  '2024-05-05T05:05:05.2000001',
  '9999-12-31T23:59:59.9999999',
];
const guids = [
  '00000000-0000-0000-0000-000000000000',
  'c9da6455-213d-42c9-9a79-3e9149a57833',
  'c9da6455-213d-42c9-9a79-3e9149a57834',
  'ffffffff-0000-0000-0000-000000000001',
];
const binaries = ['', '00', '0000', '7f', '80', 'ff', 'ffff', '3b3e3f'];

export function anySimValue(random: SimRandom): SimValue {
  return simValueOf(random, random.pick(simTypes));
}

export function simValueOf(random: SimRandom, type: SimType): SimValue {
  switch (type) {
    case 'Edm.String':
      return stringValue(random, anyString(random));
    case 'Edm.Int32':
      return int32Value(random);
    case 'Edm.Int64': {
      const value = random.chance(0.8) ? random.pick(int64s) : random.bytes(8).readBigInt64BE();
      return { type, comparable: value, sent: `"${value}"`, annotateSent: true, text: `${value}` };
    }
    case 'Edm.Double':
      return doubleValue(random);
    case 'Edm.Boolean': {
      const value = random.chance(0.5);
      return { type, comparable: value, sent: String(value), annotateSent: random.chance(0.2) };
    }
    case 'Edm.DateTime':
      return dateValue(random);
    case 'Edm.Guid': {
      const text = random.chance(0.8) ? random.pick(guids) : random.uuid();
      const sent = random.chance(0.3) ? text.toUpperCase() : text;
      return { type, comparable: text, sent: `"${sent}"`, annotateSent: true, text };
    }
    case 'Edm.Binary': {
      const bytes = random.chance(0.8)
        ? Buffer.from(random.pick(binaries), 'hex')
        : random.bytes(random.int(300));
      const text = bytes.toString('base64');
      return {
        type,
        comparable: bytes.toString('latin1'),
        sent: `"${text}"`,
        annotateSent: true,
        text,
      };
    }
    default:
      return unreachable(type);
  }
}

export function stringValue(random: SimRandom, value: string): SimValue {
  return {
    type: 'Edm.String',
    comparable: value,
    sent: JSON.stringify(value),
    annotateSent: random.chance(0.2),
    text: value,
  };
}

function anyString(random: SimRandom): string {
  if (random.chance(0.005)) return random.pick(['x', '\ue000', '"']).repeat(32_768);
  return random.chance(0.7)
    ? random.pick(strings)
    : Array.from({ length: random.int(12) }, () => random.pick(strings)).join('');
}

function int32Value(random: SimRandom): SimValue {
  const value = random.pick(int32s);
  const annotateSent = random.chance(0.3);
  const sent = annotateSent && random.chance(0.5) ? `"${value}"` : String(value);
  return { type: 'Edm.Int32', comparable: value, sent, annotateSent };
}

function doubleValue(random: SimRandom): SimValue {
  const value = random.pick(doubles);
  const type = 'Edm.Double';
  if (!Number.isFinite(value)) {
    const text = String(value);
    return { type, comparable: value, sent: `"${text}"`, annotateSent: true, text };
  }
  const form = random.int(3);
  if (form === 0)
    return { type, comparable: value, sent: withFraction(value), annotateSent: false };
  const sent = form === 1 ? String(value) : `"${value}"`;
  return { type, comparable: value, sent, annotateSent: true };
}

/** A number that is parsed as a Double without annotation. */
export function withFraction(value: number): string {
  const text = String(value);
  return /[.e]/.test(text) ? text : `${text}.0`;
}

function dateValue(random: SimRandom): SimValue {
  const padded = random.pick(dates);
  const trimmed = padded.replace(/\.?0*$/, '');
  const forms = [`${padded}Z`, `${trimmed}Z`, trimmed];
  if (padded.startsWith('2')) forms.push(withOffset(padded, random.pick([-90, 60, 840])));
  const sent = random.pick(forms);
  return {
    type: 'Edm.DateTime',
    comparable: padded,
    sent: `"${sent}"`,
    annotateSent: true,
    text: `${trimmed}Z`,
  };
}

/** The same instant in the local time of an offset, in minutes. */
function withOffset(padded: string, minutes: number): string {
  const seconds = new Date(Date.parse(`${padded.slice(0, 19)}Z`) + minutes * 60_000);
  const sign = minutes < 0 ? '-' : '+';
  const hours = String(Math.floor(Math.abs(minutes) / 60)).padStart(2, '0');
  const rest = String(Math.abs(minutes) % 60).padStart(2, '0');
  return `${seconds.toISOString().slice(0, 19)}${padded.slice(19)}${sign}${hours}:${rest}`;
}

/** Whether minimal metadata carries the type beside this value (table-service §4.3). */
export function isAnnotated({ type, comparable }: SimValue): boolean {
  if (type === 'Edm.Double') return !Number.isFinite(comparable);
  return ['Edm.Int64', 'Edm.DateTime', 'Edm.Guid', 'Edm.Binary'].includes(type);
}

/** True when a response has this value, in the wire format of its type. */
export function isValue(value: SimValue, json: ExactJson | undefined): boolean {
  if (json === undefined) return false;
  if (value.text !== undefined) return json.kind === 'string' && json.value === value.text;
  if (value.type === 'Edm.Boolean') {
    return json.kind === 'word' && json.text === String(value.comparable);
  }
  if (json.kind !== 'number') return false;
  const hasFraction = /[.eE]/.test(json.text);
  return hasFraction === (value.type === 'Edm.Double') && Number(json.text) === value.comparable;
}
