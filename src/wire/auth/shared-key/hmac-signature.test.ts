import assert from 'node:assert/strict';
import { createHmac, createSecretKey, randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import { signature } from './hmac-signature.js';

describe('a signature', () => {
  const keys = [1, 32, 63, 64, 65, 200].map((bytes) => randomBytes(bytes));
  const texts = [
    '',
    'GET\n\nÄ€😀',
    '\u{d800}',
    'x'.repeat(1024),
    '€'.repeat(1024),
    'é'.repeat(1025),
  ];

  it('is that of node for keys and texts of any length, whichever key came before', () => {
    const secrets = keys.map((key) => createSecretKey(key));
    for (const text of texts)
      for (const [index, secret] of secrets.entries()) {
        const expected = createHmac('sha256', keys[index] ?? '').update(text, 'utf8');
        assert.equal(signature(secret, text), expected.digest('base64'));
      }
  });
});
