import assert from 'node:assert/strict';
import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { describe, it } from 'node:test';
import { EncryptionError } from './encryption-error.js';
import { idOf, keyRing, type KeyWrapAlgorithm } from './key-wrapper.js';
import { aesKeyWrapper, rsaKeyWrapper } from './local-keys.js';

const contentKey = Buffer.from('00112233445566778899aabbccddeeff0001020304050607', 'hex');

describe('AES key wrap', () => {
  it('gives the example of RFC 3394, 4.5', async () => {
    const wrapper = aesKeyWrapper('k', Buffer.from(Array.from({ length: 32 }, (_, i) => i)));
    const { result } = await wrapper.wrapKey('A256KW', contentKey);
    const expected = 'a8f9bc1612c68b3ff6e6f4fbe30e71e4769c8b80a32cb8958cd5d17d6b254da1';
    assert.equal(Buffer.from(result).toString('hex'), expected);
    assert.deepEqual(Buffer.from((await wrapper.unwrapKey('A256KW', result)).result), contentKey);
  });

  it('notices that another key wrapped', async () => {
    const { result } = await aesKeyWrapper('a', Buffer.alloc(16, 1)).wrapKey('A128KW', contentKey);
    const other = aesKeyWrapper('b', Buffer.alloc(16, 2));
    await assert.rejects(other.unwrapKey('A128KW', result), EncryptionError);
  });

  it('refuses an algorithm for keys of another length', async () => {
    const wrapper = aesKeyWrapper('a', Buffer.alloc(16));
    for (const algorithm of ['A192KW', 'A256KW', 'RSA-OAEP'] satisfies KeyWrapAlgorithm[]) {
      await assert.rejects(wrapper.wrapKey(algorithm, contentKey), /'a' has 16 bytes/);
    }
  });
});

describe('RSA key wrap', () => {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });

  for (const algorithm of ['RSA-OAEP', 'RSA-OAEP-256'] as const) {
    it(`wraps with a public key what the private key unwraps: ${algorithm}`, async () => {
      const writer = rsaKeyWrapper('r', createPublicKey(privateKey));
      const reader = rsaKeyWrapper('r', privateKey);
      const { result } = await writer.wrapKey(algorithm, contentKey);
      assert.deepEqual(Buffer.from((await reader.unwrapKey(algorithm, result)).result), contentKey);
      await assert.rejects(writer.unwrapKey(algorithm, result), /public key/);
    });
  }

  it('refuses algorithms of AES', async () => {
    await assert.rejects(rsaKeyWrapper('r', privateKey).wrapKey('A256KW', contentKey), /RSA key/);
  });
});

describe('a key ring', () => {
  it('finds the current and the older keys by their ids', async () => {
    const [now, before] = [
      aesKeyWrapper('now', Buffer.alloc(32)),
      aesKeyWrapper('before', Buffer.alloc(32)),
    ];
    const ring = keyRing({ wrapper: now, algorithm: 'A256KW' }, before);
    assert.equal(await ring.find('now'), now);
    assert.equal(await ring.find('before'), before);
    assert.equal(await ring.find('never'), undefined);
  });

  it('refuses a key without an id', () => {
    assert.throws(() => idOf({ ...aesKeyWrapper('', Buffer.alloc(32)) }), /has no id/);
  });
});
