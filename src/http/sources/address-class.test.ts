import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { addressClass, type AddressClass } from './address-class.js';

const addresses: Readonly<Record<AddressClass, readonly string[]>> = {
  public: ['1.1.1.1', '172.32.0.1', '11.0.0.1', '2606:4700::1111', '::ffff:1.1.1.1'],
  private: [
    '127.0.0.1',
    '127.9.9.9',
    '10.1.2.3',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.1.1',
    '169.254.169.254',
    '100.64.0.1',
    '::1',
    '0:0:0:0:0:0:0:1',
    'fc00::1',
    'fd12:3456::1',
    'fe80::1',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '::FFFF:169.254.169.254',
  ],
  never: [
    '0.0.0.0',
    '0.1.2.3',
    '224.0.0.1',
    '255.255.255.255',
    '192.0.2.1',
    '198.18.0.1',
    '::',
    '::127.0.0.1',
    '::ffff:0.0.0.0',
    '64:ff9b::7f00:1',
    '2002:7f00:1::',
    '2001:0:1::1',
    'ff02::1',
    'fe80::1%eth0',
    'localhost',
    '127.1',
    '',
  ],
};

describe('the class of an address', () => {
  for (const [expected, texts] of Object.entries(addresses)) {
    it(`is ${expected} for those of that kind`, () => {
      for (const text of texts) assert.equal(addressClass(text), expected, text);
    });
  }
});
