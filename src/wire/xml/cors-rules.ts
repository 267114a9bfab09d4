import { invalidXmlDocument, invalidXmlNode } from '../../model/errors/query-errors.js';
import type { CorsRule } from '../../model/resources/service-properties.js';
import { childrenOf, integerOf, itemsOf, required, textOf } from './content-model.js';
import { element, textElement } from './element.js';
import type { XmlElement } from './reader.js';

// The limits of rules (queue-service §10.4).

const rulesMax = 5;
/** The bytes of all values of all rules together, without tags. */
const settingsBytesMax = 2_048;
const originsMax = 64;
const literalHeadersMax = 64;
const prefixedHeadersMax = 2;
/** The length of an origin or a header name. */
const memberLengthMax = 256;
const maxAgeSecondsMax = 2_147_483_647;

const methods: ReadonlySet<string> = new Set([
  'DELETE',
  'GET',
  'HEAD',
  'MERGE',
  'OPTIONS',
  'PATCH',
  'POST',
  'PUT',
]);

const ruleElements = [
  'AllowedOrigins',
  'AllowedMethods',
  'MaxAgeInSeconds',
  'ExposedHeaders',
  'AllowedHeaders',
] as const;

/**
 * The rules of a `Cors` element; empty when it is empty. All values are valid in headers.
 *
 * @throws InvalidXmlDocument for too many rules or too much text, InvalidXmlNodeValue for a list
 * beyond its limits or an invalid member, MissingRequiredXmlNode, UnsupportedXmlNode.
 */
export function parseCors(cors: XmlElement): readonly CorsRule[] {
  const items = itemsOf(cors, 'CorsRule');
  if (items.length > rulesMax) {
    throw invalidXmlDocument(`There are ${items.length} rules; at most ${rulesMax} are allowed.`);
  }
  const rules = items.map(parseRule);
  const bytes = items
    .flatMap(({ children }) => children)
    .reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
  if (bytes > settingsBytesMax) {
    throw invalidXmlDocument(
      `The rules have ${bytes} bytes; at most ${settingsBytesMax} are allowed.`,
    );
  }
  return rules;
}

function parseRule(item: XmlElement): CorsRule {
  const children = childrenOf(item, ruleElements);
  return {
    allowedOrigins: parseOrigins(required(children, 'AllowedOrigins')),
    allowedMethods: parseMethods(required(children, 'AllowedMethods')),
    allowedHeaders: parseHeaders(required(children, 'AllowedHeaders')),
    exposedHeaders: parseHeaders(required(children, 'ExposedHeaders')),
    maxAgeSeconds: integerOf(required(children, 'MaxAgeInSeconds'), 0, maxAgeSecondsMax),
  };
}

/** The members of a comma-separated list of up to `max` texts. */
function membersOf(leaf: XmlElement, min: number, max: number): readonly string[] {
  const text = textOf(leaf).trim();
  const members = text === '' ? [] : text.split(',').map((member) => member.trim());
  if (members.length < min || members.length > max) {
    throw invalidXmlNode(leaf.name, text, `It must have ${min} to ${max} members.`);
  }
  return members;
}

function checkMembers(leaf: XmlElement, members: readonly string[], form: RegExp): void {
  const bad = members.find((member) => member.length > memberLengthMax || !form.test(member));
  if (bad === undefined) return;
  const reason = `A member must have 1 to ${memberLengthMax} characters, all legal there.`;
  throw invalidXmlNode(leaf.name, bad, reason);
}

function parseOrigins(leaf: XmlElement): readonly string[] {
  const origins = membersOf(leaf, 1, originsMax);
  checkMembers(leaf, origins, /^[\x21-\x7e]+$/);
  return origins;
}

function parseMethods(leaf: XmlElement): readonly string[] {
  const members = membersOf(leaf, 1, methods.size);
  const bad = members.find((member) => !methods.has(member));
  if (bad === undefined) return members;
  throw invalidXmlNode(leaf.name, bad, `A method must be among ${[...methods].join(', ')}.`);
}

function parseHeaders(leaf: XmlElement): readonly string[] {
  const headers = membersOf(leaf, 0, literalHeadersMax + prefixedHeadersMax);
  checkMembers(leaf, headers, /^[\w!#$%&'*+.^`|~-]+$/);
  const prefixed = headers.filter((header) => header.endsWith('*')).length;
  if (prefixed > prefixedHeadersMax || headers.length - prefixed > literalHeadersMax) {
    const reason = `It may have ${literalHeadersMax} names and ${prefixedHeadersMax} prefixes.`;
    throw invalidXmlNode(leaf.name, leaf.text.trim(), reason);
  }
  return headers;
}

export function renderCors(rules: readonly CorsRule[]): string {
  return element('Cors', rules.map(renderRule).join(''));
}

/** Names before prefixes, as in the service. */
function shownHeaders(headers: readonly string[]): string {
  const isPrefix = (header: string): boolean => header.endsWith('*');
  const names = headers.filter((header) => !isPrefix(header));
  return [...names, ...headers.filter(isPrefix)].join(',');
}

/** In the service's order, whatever that of the request was. */
function renderRule(rule: CorsRule): string {
  const children = [
    textElement('AllowedMethods', rule.allowedMethods.join(',')),
    textElement('AllowedOrigins', rule.allowedOrigins.join(',')),
    textElement('AllowedHeaders', shownHeaders(rule.allowedHeaders)),
    textElement('ExposedHeaders', shownHeaders(rule.exposedHeaders)),
    element('MaxAgeInSeconds', String(rule.maxAgeSeconds)),
  ];
  return element('CorsRule', children.join(''));
}
