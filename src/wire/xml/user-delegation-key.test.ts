import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { StorageError } from '../../model/errors/storage-error.js';
import { parseKeyInfo } from './user-delegation-key.js';

const keyInfo = (inside: string) => Buffer.from(`<KeyInfo>${inside}</KeyInfo>`);
const expiry = '<Expiry>2026-01-02T00:00:00Z</Expiry>';

describe('the body that asks for a user delegation key', () => {
  it('says from when to when', () => {
    const startMicros = Date.parse('2026-01-01T00:00:00Z') * 1000;
    const expiryMicros = Date.parse('2026-01-02T00:00:00Z') * 1000;
    const whole = keyInfo(`<Start>2026-01-01T00:00:00Z</Start>${expiry}`);
    assert.deepEqual(parseKeyInfo(whole), { startMicros, expiryMicros });
    for (const start of ['', '<Start />', '<Start></Start>']) {
      const open = keyInfo(start + expiry);
      assert.deepEqual(parseKeyInfo(open), { startMicros: undefined, expiryMicros });
    }
  });

  for (const [inside, name, value] of [
    [`<Start>now</Start>${expiry}`, 'Start', 'now'],
    ['<Expiry>2026-13-01</Expiry>', 'Expiry', '2026-13-01'],
    [`${expiry}<DelegatedUserTid>tenant</DelegatedUserTid>`, 'DelegatedUserTid', 'tenant'],
  ] as const) {
    it(`is refused with the name and the value of what is wrong: ${name}`, () => {
      assert.throws(
        () => parseKeyInfo(keyInfo(inside)),
        (error: unknown) => {
          assert.ok(error instanceof StorageError);
          assert.equal(error.code, 'InvalidXmlNodeValue');
          assert.deepEqual(error.details.slice(0, 2), [
            ['XmlNodeName', name],
            ['XmlNodeValue', value],
          ]);
          return true;
        },
      );
    });
  }
});
