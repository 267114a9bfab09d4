import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { EncryptionError } from './encryption-error.js';
import { envelopeOf, envelopeProperty, parseEnvelope, renderEnvelope } from './envelope.js';

const whole = {
  contentKey: { keyId: 'k', algorithm: 'A256KW', bytes: Buffer.from([1, 2, 3]) },
  deterministicKeyId: 'd',
  properties: { Note: 'A256GCM', Email: 'A256SIV' },
} as const;

describe('the description of how a row is encrypted', () => {
  it('is the JSON that the reference documents', () => {
    assert.equal(
      renderEnvelope(whole),
      '{"v":1,"kek":"k","wrap":"A256KW","key":"AQID","det":"d",' +
        '"props":{"Note":"A256GCM","Email":"A256SIV"}}',
    );
  });

  it('reads what it wrote', () => {
    assert.deepEqual(parseEnvelope(renderEnvelope(whole)), whole);
    const { contentKey, properties } = whole;
    const { deterministicKeyId } = whole;
    for (const part of [
      { contentKey, properties },
      { deterministicKeyId, properties },
    ]) {
      assert.deepEqual(parseEnvelope(renderEnvelope(part)), part);
    }
  });

  for (const [what, text] of [
    ['no JSON', '{'],
    ['no object', '[]'],
    ['a later version', '{"v":2,"props":{}}'],
    ['no properties', '{"v":1}'],
    ['an unknown algorithm', '{"v":1,"props":{"a":"ROT13"}}'],
    ['an unknown wrapping', '{"v":1,"kek":"k","wrap":"none","key":"","props":{}}'],
    ['a key that is no text', '{"v":1,"kek":"k","wrap":"A256KW","key":1,"props":{}}'],
    ['an id that is no text', '{"v":1,"det":1,"props":{}}'],
  ] as const) {
    it(`refuses ${what}`, () => {
      assert.throws(() => parseEnvelope(text), EncryptionError);
    });
  }

  it('refuses a property of that name that is no text', () => {
    assert.throws(() => envelopeOf({ [envelopeProperty]: { type: 'Int32', value: 1 } }), /Int32/);
    assert.equal(envelopeOf({}), undefined);
  });

  it('refuses more properties than fit into a property', () => {
    const names = Array.from({ length: 200 }, (_, index) => `${index}`.padStart(200, 'p'));
    const properties = Object.fromEntries(names.map((name) => [name, 'A256GCM' as const]));
    assert.throws(() => renderEnvelope({ properties }), /fit/);
  });
});
