import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { SignedIdentifier } from '../../model/resources/signed-identifier.js';
import { StorageError } from '../../model/errors/storage-error.js';
import { parseSignedIdentifiers, renderSignedIdentifiers } from './signed-identifiers.js';

const declaration = '<?xml version="1.0" encoding="utf-8"?>';
const sample = {
  id: 'MTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTI=',
  start: '2009-09-28T08:49:37.0000000Z',
  expiry: '2009-09-29T08:49:37.0000000Z',
  permission: 'raup',
};
const sampleBody =
  `${declaration}<SignedIdentifiers><SignedIdentifier><Id>${sample.id}</Id><AccessPolicy>` +
  `<Start>${sample.start}</Start><Expiry>${sample.expiry}</Expiry>` +
  `<Permission>raup</Permission></AccessPolicy></SignedIdentifier></SignedIdentifiers>`;

function parse(document: string): readonly SignedIdentifier[] {
  return parseSignedIdentifiers(Buffer.from(document), 'raup');
}

function list(...identifiers: readonly string[]): string {
  const items = identifiers.map((content) => `<SignedIdentifier>${content}</SignedIdentifier>`);
  return `<SignedIdentifiers>${items.join('')}</SignedIdentifiers>`;
}

function policy(content: string): string {
  return list(`<Id>a</Id><AccessPolicy>${content}</AccessPolicy>`);
}

/** The code of a refusal, and its details without the reason. */
function refusal(document: string): readonly unknown[] {
  let error: unknown;
  try {
    parse(document);
  } catch (caught) {
    error = caught;
  }
  assert.ok(error instanceof StorageError, document);
  const details = Object.fromEntries(error.details);
  return [error.code, details['XmlNodeName'], details['XmlNodeValue']];
}

describe('parseSignedIdentifiers', () => {
  it('reads the documented body, indented or not', () => {
    assert.deepEqual(parse(sampleBody), [sample]);
    assert.deepEqual(parse(sampleBody.replaceAll('><', '>\r\n  <')), [sample]);
  });

  it('reads an empty list', () => {
    assert.deepEqual(parse('<SignedIdentifiers/>'), []);
    assert.deepEqual(parse('<SignedIdentifiers> </SignedIdentifiers>'), []);
  });

  it('takes a policy and each of its parts for optional, and an empty part for absent', () => {
    assert.deepEqual(parse(list('<Id>a</Id>')), [{ id: 'a' }]);
    assert.deepEqual(parse(policy('')), [{ id: 'a' }]);
    assert.deepEqual(parse(policy('<Start></Start><Expiry/><Permission> </Permission>')), [
      { id: 'a' },
    ]);
    assert.deepEqual(parse(policy('<Permission>r</Permission>')), [{ id: 'a', permission: 'r' }]);
  });

  it('writes every form of time with seven digits in UTC', () => {
    for (const [given, written] of [
      ['2009-09-28', '2009-09-28T00:00:00.0000000Z'],
      ['2009-09-28T08:49Z', '2009-09-28T08:49:00.0000000Z'],
      ['2009-09-28T08:49:37Z', '2009-09-28T08:49:37.0000000Z'],
      ['2009-09-28T08:49:37.1Z', '2009-09-28T08:49:37.1000000Z'],
      ['2009-09-28T08:49:37.1234567Z', '2009-09-28T08:49:37.1234567Z'],
      ['2009-09-28T23:49:37+05:30', '2009-09-28T18:19:37.0000000Z'],
      ['2009-09-28T23:49-08:00', '2009-09-29T07:49:00.0000000Z'],
      [' 9999-12-31T23:59:59.9999999Z ', '9999-12-31T23:59:59.9999999Z'],
      ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.0000000Z'],
    ]) {
      assert.deepEqual(parse(policy(`<Start>${given}</Start>`)), [{ id: 'a', start: written }]);
    }
  });

  it('puts letters into the order of the service', () => {
    const [identifier] = parse(policy('<Permission>puarp</Permission>'));
    assert.equal(identifier?.permission, 'raup');
    const body = Buffer.from(policy('<Permission>du</Permission>'));
    assert.equal(parseSignedIdentifiers(body, 'raud')[0]?.permission, 'ud');
  });

  it('allows five identifiers of 64 characters', () => {
    const ids = ['a', 'b', 'c', 'd', 'é'].map((letter) => letter.repeat(64));
    const items = ids.map((id) => `<Id>${id}</Id>`);
    assert.deepEqual(
      parse(list(...items)).map(({ id }) => id),
      ids,
    );
    assert.deepEqual(refusal(list(...items, '<Id>f</Id>')), [
      'InvalidXmlDocument',
      undefined,
      undefined,
    ]);
  });

  it('refuses an id that is absent, empty, too long or used twice', () => {
    const long = 'a'.repeat(65);
    for (const id of ['', '<Id/>', `<Id>${long}</Id>`]) {
      assert.deepEqual(refusal(list(id)), ['InvalidXmlDocument', undefined, undefined]);
    }
    assert.deepEqual(refusal(list('<Id>a</Id>', '<Id>b</Id>', '<Id>a</Id>')), [
      'InvalidXmlNodeValue',
      'Id',
      'a',
    ]);
    assert.equal(parse(list('<Id>a</Id>', '<Id>A</Id>')).length, 2);
  });

  it('refuses what is no time, and what is none in UTC', () => {
    for (const text of [
      'now',
      '2009-09-31',
      '2009-9-28',
      '2009-09-28Z',
      '2009-09-28T08Z',
      '2009-09-28T08:49:37',
      '2009-09-28T08:49:37.Z',
      '2009-09-28T08:49:37.12345678Z',
      '2009-09-28T24:00:00Z',
      '2009-09-28 08:49:37Z',
      '2009-09-28T08:49:37+99:00',
      '9999-12-31T23:59:59-01:00',
      '0001-01-01T00:00:00+01:00',
      '0000-01-01T00:00:00Z',
    ]) {
      for (const name of ['Start', 'Expiry']) {
        assert.deepEqual(refusal(policy(`<${name}>${text}</${name}>`)), [
          'InvalidXmlNodeValue',
          name,
          text,
        ]);
      }
    }
  });

  it('refuses letters that the resource does not know', () => {
    for (const text of ['d', 'R', 'ra,up', 'r a', 'rwdl', 'é']) {
      assert.deepEqual(refusal(policy(`<Permission>${text}</Permission>`)), [
        'InvalidXmlNodeValue',
        'Permission',
        text,
      ]);
    }
  });

  it('refuses elements that are unknown or repeated, and text between them', () => {
    assert.deepEqual(refusal(list('<Id>a</Id><Other/>')), [
      'UnsupportedXmlNode',
      'Other',
      undefined,
    ]);
    assert.deepEqual(refusal(policy('<Begin/>')), ['UnsupportedXmlNode', 'Begin', undefined]);
    assert.deepEqual(refusal(list('<Id>a<b/></Id>')), ['UnsupportedXmlNode', 'b', undefined]);
    assert.deepEqual(refusal('<SignedIdentifiers><Id>a</Id></SignedIdentifiers>'), [
      'UnsupportedXmlNode',
      'Id',
      undefined,
    ]);
    for (const document of [
      list('<Id>a</Id><Id>b</Id>'),
      list('text<Id>a</Id>'),
      '<SignedIdentifier/>',
      '<SignedIdentifiers>',
      '',
    ]) {
      assert.equal(refusal(document)[0], 'InvalidXmlDocument', document);
    }
  });
});

describe('renderSignedIdentifiers', () => {
  it('writes the documented body', () => {
    assert.equal(renderSignedIdentifiers([sample]).toString(), sampleBody);
    assert.equal(renderSignedIdentifiers([]).toString(), `${declaration}<SignedIdentifiers />`);
  });

  it('leaves out a policy that says nothing', () => {
    assert.equal(
      renderSignedIdentifiers([{ id: 'empty' }]).toString(),
      `${declaration}<SignedIdentifiers><SignedIdentifier><Id>empty</Id></SignedIdentifier></SignedIdentifiers>`,
    );
  });

  it('is read back', () => {
    const time = fc
      .date({ min: new Date(0), max: new Date('9999-12-31'), noInvalidDate: true })
      .map((date) => date.toISOString().replace('Z', '0123Z'));
    const identifier = fc.record(
      {
        id: fc.string({
          unit: fc.constantFrom(...Array.from('aA1=+/<&é ')),
          minLength: 1,
          maxLength: 64,
        }),
        start: time,
        expiry: time,
        permission: fc.constantFrom('r', 'ra', 'up', 'raup'),
      },
      { requiredKeys: ['id'], noNullPrototype: true },
    );
    const identifiers = fc.uniqueArray(identifier, { selector: ({ id }) => id, maxLength: 5 });
    fc.assert(
      fc.property(identifiers, (given) => {
        assert.deepEqual(parseSignedIdentifiers(renderSignedIdentifiers(given), 'raup'), given);
      }),
    );
  });
});
