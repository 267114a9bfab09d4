import type { SimRandom } from '../support/sim-random.js';
import { multiplied, withDeclaration } from './documents.js';
import { fuzzQueues, soundQueueRequest } from './queue-requests.js';
import { spliced } from './splice.js';

/** Text for paths and values of queue requests, beside that for all requests. */
export const queueTokens = [
  'messages',
  'Messages',
  '/messages/',
  '--',
  '-a',
  'UPPER',
  'a_b',
  'x'.repeat(64),
  '604801',
  '9007199254740993',
  '+1',
  ' 1',
  '1 ',
  '١',
  'true,true',
  'TRUE',
  '=',
  '==',
  '/devstoreaccount1/',
];

export const queueHeaderValues: Readonly<Record<string, readonly string[]>> = {
  'x-ms-meta-Name': ['', 'x', 'é', 'x'.repeat(9000)],
  'x-ms-meta-': ['x'],
  'x-ms-meta-a-b': ['x'],
  'x-ms-meta-1': ['x'],
  'x-ms-meta-name': ['other case'],
  'x-ms-version': [
    '',
    '2009-04-14',
    '2011-08-18',
    '2012-02-12',
    '2013-08-15',
    '2016-05-31',
    '2099-01-01',
  ],
  'Content-MD5': ['', 'AAAA', 'AAAAAAAAAAAAAAAAAAAAAA==', 'not base64 at all'],
  'Content-Language': ['cs'],
};

const optionNames = [
  'comp',
  'restype',
  'popreceipt',
  'visibilitytimeout',
  'VisibilityTimeout',
  'messagettl',
  'numofmessages',
  'peekonly',
  'prefix',
  'marker',
  'maxresults',
  'include',
  'timeout',
  'sig',
  'sv',
  '',
];
const optionValues = [
  '',
  '0',
  '-1',
  '1',
  '32',
  '33',
  '604800',
  '99999999999999999999',
  '1e3',
  'NaN',
  'true',
  'list',
  'acl',
  'metadata',
  'properties',
  'stats',
  'service',
  ...fuzzQueues,
];

export function randomQueueOption(random: SimRandom): [string, string] {
  return [random.pick(optionNames), random.pick(optionValues)];
}

const xmlTokens = [
  '<',
  '>',
  '/>',
  '</',
  '&',
  '&amp;',
  '&#0;',
  '&#x110000;',
  '&#xD800;',
  '&nbsp;',
  '<!--',
  '-->',
  '--',
  '<![CDATA[',
  ']]>',
  '<?x y?>',
  '<?xml version="1.0" encoding="utf-16"?>',
  '<!DOCTYPE a [<!ENTITY b "c">]>',
  '<a>',
  '</a>',
  '<a b="c" b="d"/>',
  'xmlns="urn:x" ',
  '<MessageText>',
  '</QueueMessage>',
  '<Id>',
  '<Days>366</Days>',
  '"',
  "'",
  '=',
  '\u0000',
  '\u0008',
  '\r',
  '\ufffe',
  '\uFEFF',
  '😀',
];

/** A document with an error, or an excessive size. */
export function mutatedXml(random: SimRandom, body: string): string {
  const weights = { splice: 12, nest: 1, many: 1, long: 1, cut: 2, empty: 1, other: 2 };
  switch (random.weighted({ ...weights, declaration: 2, multiply: 1 })) {
    case 'declaration':
      return withDeclaration(random, body);
    case 'multiply':
      return multiplied(random, body);
    case 'splice':
      return spliced(random, body, xmlTokens);
    case 'nest': {
      const depth = random.between(10, 20_000);
      return '<a>'.repeat(depth) + (random.chance(0.5) ? '</a>'.repeat(depth) : '');
    }
    case 'many':
      return `<QueueMessage>${'<a/>'.repeat(random.between(10, 20_000))}</QueueMessage>`;
    case 'long': {
      const text = random.pick(['x', '&amp;', '<', '&', '\r', '&#13;']);
      return body.replace('Text>', `Text>${text.repeat(random.between(1000, 30_000))}`);
    }
    case 'cut':
      return body.slice(0, random.int(body.length + 1));
    case 'empty':
      return '';
    default:
      return soundQueueRequest(random).body ?? '<SignedIdentifiers/>';
  }
}
