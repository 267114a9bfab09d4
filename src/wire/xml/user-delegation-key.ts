import type { UserDelegationKeyFields } from '../auth/sas/fields.js';
import { parseSasTime } from '../auth/sas/terms.js';
import { invalidXmlNode } from '../../model/errors/query-errors.js';
import { childrenOf, expectRoot, required, textOf } from './content-model.js';
import { element, textElement, xmlDocument } from './element.js';
import { parseXml, type XmlElement } from './reader.js';

/** The requested validity of a key, in microseconds since 1970; without a start from now on. */
export interface KeyInfo {
  readonly startMicros: number | undefined;
  readonly expiryMicros: number;
}

/**
 * The body of Get User Delegation Key (queue-service §4.5).
 *
 * @throws InvalidXmlDocument, MissingRequiredXmlNode, UnsupportedXmlNode; InvalidXmlNodeValue for a
 *   malformed time, and for a key that only one other user may use
 */
export function parseKeyInfo(body: Buffer): KeyInfo {
  const root = parseXml(body);
  expectRoot(root, 'KeyInfo');
  const children = childrenOf(root, ['Start', 'Expiry', 'DelegatedUserTid']);
  const delegated = children.get('DelegatedUserTid');
  if (delegated !== undefined && textOf(delegated) !== '') {
    throw invalidXmlNode(delegated.name, textOf(delegated), 'Keys for another user are not made.');
  }
  const start = children.get('Start');
  return {
    startMicros: start === undefined || textOf(start) === '' ? undefined : timeOf(start),
    expiryMicros: timeOf(required(children, 'Expiry')),
  };
}

function timeOf(leaf: XmlElement): number {
  const text = textOf(leaf).trim();
  const micros = parseSasTime(text);
  if (micros !== undefined) return micros;
  throw invalidXmlNode(leaf.name, text, 'It must be a UTC time such as 2009-09-28T08:49:37Z.');
}

/** The answer; `value` is the key. */
export function renderUserDelegationKey(fields: UserDelegationKeyFields, value: Buffer): Buffer {
  const { objectId, tenantId, start, expiry, service, version } = fields;
  const children = [
    textElement('SignedOid', objectId),
    textElement('SignedTid', tenantId),
    textElement('SignedStart', start),
    textElement('SignedExpiry', expiry),
    textElement('SignedService', service),
    textElement('SignedVersion', version),
    textElement('Value', value.toString('base64')),
  ];
  return xmlDocument(element('UserDelegationKey', children.join('')));
}
