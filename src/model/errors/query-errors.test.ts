import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  invalidHeader,
  invalidQueryParameter,
  invalidXmlDocument,
  invalidXmlNode,
  missingHeader,
  missingQueryParameter,
  missingXmlNode,
  outOfRangeQueryParameter,
  requestBodyTooLarge,
  unsupportedXmlNode,
} from './query-errors.js';

describe('errors about a part of a request', () => {
  it('name it in the documented elements', () => {
    const sent = [
      outOfRangeQueryParameter('numofmessages', '0', 1, 32),
      invalidQueryParameter('popreceipt', 'x', 'why'),
      missingQueryParameter('popreceipt'),
      invalidHeader('x-ms-version', '1'),
      missingHeader('x-ms-version'),
      requestBodyTooLarge(65_536),
      invalidXmlNode('Days', '0', 'why'),
      missingXmlNode('Days'),
      unsupportedXmlNode('Hours'),
      invalidXmlDocument('why'),
      invalidXmlDocument('why', { line: 1, column: 2 }),
    ].map(({ status, code, details }) => [
      `${status} ${code}`,
      details.map((detail) => detail.join('=')).join(' '),
    ]);
    assert.deepEqual(sent, [
      [
        '400 OutOfRangeQueryParameterValue',
        'QueryParameterName=numofmessages QueryParameterValue=0 MinimumAllowed=1 MaximumAllowed=32',
      ],
      [
        '400 InvalidQueryParameterValue',
        'QueryParameterName=popreceipt QueryParameterValue=x Reason=why',
      ],
      ['400 MissingRequiredQueryParameter', 'QueryParameterName=popreceipt'],
      ['400 InvalidHeaderValue', 'HeaderName=x-ms-version HeaderValue=1'],
      ['400 MissingRequiredHeader', 'HeaderName=x-ms-version'],
      ['413 RequestBodyTooLarge', 'MaxLimit=65536'],
      ['400 InvalidXmlNodeValue', 'XmlNodeName=Days XmlNodeValue=0 Reason=why'],
      ['400 MissingRequiredXmlNode', 'XmlNodeName=Days'],
      ['400 UnsupportedXmlNode', 'XmlNodeName=Hours'],
      ['400 InvalidXmlDocument', 'Reason=why'],
      ['400 InvalidXmlDocument', 'LineNumber=1 LinePosition=2 Reason=why'],
    ]);
  });
});
