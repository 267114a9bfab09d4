import { dateTimeMax, formatFullDateTime, parseUtcTime } from '../../model/edm/date-time.js';
import { invalidXmlDocument, invalidXmlNode } from '../../model/errors/query-errors.js';
import {
  signedIdentifiersMax,
  type SignedIdentifier,
} from '../../model/resources/signed-identifier.js';
import { childrenOf, expectRoot, itemsOf, textOf } from './content-model.js';
import { element, textElement, xmlDocument } from './element.js';
import { parseXml, type XmlElement } from './reader.js';

/** Longest name of a policy, in UTF-16 code units. */
const idLengthMax = 64;

/**
 * The stored access policies of a body (queue-service §7.5, table-service §3.14). `permissions` are
 * the letters that a policy of the resource may have, in their written order. Times and letters are
 * normalised. An empty element counts as absent.
 *
 * @throws InvalidXmlDocument for another document, too many policies, an id that is absent, empty
 * or too long; InvalidXmlNodeValue for an id that is used twice, a malformed time, another
 * letter; UnsupportedXmlNode.
 */
export function parseSignedIdentifiers(
  body: Buffer,
  permissions: string,
): readonly SignedIdentifier[] {
  const root = parseXml(body);
  expectRoot(root, 'SignedIdentifiers');
  const items = itemsOf(root, 'SignedIdentifier');
  if (items.length > signedIdentifiersMax) {
    throw invalidXmlDocument(
      `There are ${items.length} identifiers; at most ${signedIdentifiersMax} are allowed.`,
    );
  }
  const identifiers = items.map((item) => parseIdentifier(item, permissions));
  checkUnique(identifiers);
  return identifiers;
}

function checkUnique(identifiers: readonly SignedIdentifier[]): void {
  const seen = new Set<string>();
  for (const { id } of identifiers) {
    if (seen.has(id)) throw invalidXmlNode('Id', id, 'Two identifiers have it.');
    seen.add(id);
  }
}

function parseIdentifier(item: XmlElement, permissions: string): SignedIdentifier {
  const children = childrenOf(item, ['Id', 'AccessPolicy']);
  const id = parseId(children.get('Id'));
  const policy = children.get('AccessPolicy');
  if (policy === undefined) return { id };
  const members = childrenOf(policy, ['Start', 'Expiry', 'Permission']);
  const start = parseTime(members.get('Start'));
  const expiry = parseTime(members.get('Expiry'));
  const permission = parsePermission(members.get('Permission'), permissions);
  return {
    id,
    ...(start === undefined ? {} : { start }),
    ...(expiry === undefined ? {} : { expiry }),
    ...(permission === undefined ? {} : { permission }),
  };
}

function parseId(leaf: XmlElement | undefined): string {
  const id = leaf === undefined ? '' : textOf(leaf);
  if (id.length === 0 || id.length > idLengthMax) {
    throw invalidXmlDocument(`An identifier needs an Id of 1 to ${idLengthMax} characters.`);
  }
  return id;
}

function parseTime(leaf: XmlElement | undefined): string | undefined {
  const text = leaf === undefined ? '' : textOf(leaf).trim();
  if (leaf === undefined || text === '') return undefined;
  const ticks = parseUtcTime(text);
  if (ticks === undefined || ticks < 0n || ticks > dateTimeMax) {
    const reason = 'It must be a UTC date such as 2009-09-28 or 2009-09-28T08:49:37.0000000Z.';
    throw invalidXmlNode(leaf.name, text, reason);
  }
  return formatFullDateTime(ticks);
}

function parsePermission(leaf: XmlElement | undefined, permissions: string): string | undefined {
  const text = leaf === undefined ? '' : textOf(leaf).trim();
  if (leaf === undefined || text === '') return undefined;
  if (text.split('').some((letter) => !permissions.includes(letter))) {
    throw invalidXmlNode(leaf.name, text, `Its letters must be among ${permissions}.`);
  }
  return permissions
    .split('')
    .filter((letter) => text.includes(letter))
    .join('');
}

/** The body of Get ACL. A policy without any terms has no `AccessPolicy` element. */
export function renderSignedIdentifiers(identifiers: readonly SignedIdentifier[]): Buffer {
  return xmlDocument(element('SignedIdentifiers', identifiers.map(renderIdentifier).join('')));
}

function renderIdentifier({ id, start, expiry, permission }: SignedIdentifier): string {
  let policy = '';
  if (start !== undefined) policy += textElement('Start', start);
  if (expiry !== undefined) policy += textElement('Expiry', expiry);
  if (permission !== undefined) policy += textElement('Permission', permission);
  const children = textElement('Id', id);
  return element(
    'SignedIdentifier',
    policy === '' ? children : children + element('AccessPolicy', policy),
  );
}
