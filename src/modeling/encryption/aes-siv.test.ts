import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { sivDecrypt, sivEncrypt } from './aes-siv.js';

const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex');
const counted = (length: number) => Buffer.from(Array.from({ length }, (_, index) => index));

/** Made by another implementation (pyca/cryptography), key 00…3f, associated data below. */
const known: readonly (readonly [number, string])[] = [
  [1, 'dd943deb928b46b031e76af7f09427672e'],
  [15, '6c2061f483abd16f2c34f79b142401b5589cca79f18fd11289f7d3f8bbf7f1'],
  [16, '6762f026efee443801c9e70c9ddbf2b755e262a03e06a8919631ec928146730d'],
  [17, 'bf378a621bef10a7cd2ab5ff3249323359ca16efdac629e19cabe6ec2b3d302da2'],
  [
    31,
    '5ee095ecc727edbd584825a24888dd82f7ffcc24b970e0361873c398770cf3835e51ce75a3a71806e52db8f2f59cd9',
  ],
  [
    32,
    '384a3608879681b31b39bcc9405a7b2be67683d27484684abf0db07722f52cc9f4ed8bb75a2c7b2aab0b0a6a6d273af0',
  ],
  [
    33,
    '70396a04bce853adb7a2c39462434f0d34ced51d58d4b2f619e4f759d6155d2dedb2839ad8249bebf4c2e1deaec63c9592',
  ],
];
const associated = Buffer.from('table/property');

describe('AES-SIV', () => {
  it('gives the example of RFC 5297, A.1', () => {
    const key = hex('fffefdfc fbfaf9f8 f7f6f5f4 f3f2f1f0 f0f1f2f3 f4f5f6f7 f8f9fafb fcfdfeff');
    const given = hex('10111213 14151617 18191a1b 1c1d1e1f 20212223 24252627');
    const bytes = sivEncrypt(key, given, hex('11223344 55667788 99aabbcc ddee'));
    assert.equal(
      Buffer.from(bytes).toString('hex'),
      '85632d07c6e8f37f950acd320a2ecc9340c02b9690c4dc04daef7f6afe5c',
    );
  });

  for (const [length, expected] of known) {
    it(`gives with a key of 64 bytes what others do for ${length} bytes`, () => {
      const bytes = sivEncrypt(counted(64), associated, counted(length));
      assert.equal(Buffer.from(bytes).toString('hex'), expected);
    });
  }

  it('decrypts what it encrypted, and nothing that was changed', () => {
    const bytes = fc.uint8Array({ maxLength: 80 });
    const key = fc.uint8Array({ minLength: 64, maxLength: 64 });
    fc.assert(
      fc.property(key, bytes, bytes, fc.nat(), (key, associated, plain, position) => {
        const sealed = sivEncrypt(key, associated, plain);
        assert.deepEqual(
          Buffer.from(sivDecrypt(key, associated, sealed) ?? []),
          Buffer.from(plain),
        );
        const corrupted = Buffer.from(sealed);
        const at = position % corrupted.length;
        corrupted.writeUInt8(corrupted.readUInt8(at) ^ (1 << (position % 8)), at);
        assert.equal(sivDecrypt(key, associated, corrupted), undefined);
        assert.equal(sivDecrypt(key, Buffer.concat([associated, Buffer.of(0)]), sealed), undefined);
      }),
    );
  });

  it('refuses bytes that are too short to have been made by it', () => {
    assert.equal(sivDecrypt(counted(64), associated, counted(15)), undefined);
  });
});
