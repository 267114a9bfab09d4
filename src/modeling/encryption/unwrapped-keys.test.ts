import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { manualClock } from '../../base/clock.js';
import { CountingKey } from '../../../test/modeling/support/encryption-keys.js';
import { EncryptionError } from './encryption-error.js';
import { keyRing } from './key-wrapper.js';
import { wrapContentKey } from './row-cipher.js';
import { UnwrappedKeys } from './unwrapped-keys.js';

async function fixture(entriesMax: number) {
  const kek = new CountingKey('kek');
  const clock = manualClock();
  const keys = new UnwrappedKeys(keyRing(kek.kek), clock, { entriesMax, maxAgeMs: 1000 });
  const wrapped = await Promise.all(
    [1, 2, 3].map((fill) => wrapContentKey(kek.kek, Buffer.alloc(32, fill))),
  );
  const unwrap = async (index: number) => {
    const key = wrapped[index - 1];
    assert.ok(key !== undefined);
    assert.deepEqual(Buffer.from(await keys.unwrap(key)), Buffer.alloc(32, index));
  };
  return { kek, clock, keys, wrapped, unwrap };
}

describe('content keys in memory', () => {
  it('are unwrapped once, also by reads at the same time', async () => {
    const { kek, unwrap } = await fixture(10);
    await Promise.all([unwrap(1), unwrap(1)]);
    await unwrap(1);
    assert.equal(kek.unwraps, 1);
  });

  it('are forgotten after a time, so that a revoked key stops to read', async () => {
    const { kek, clock, unwrap } = await fixture(10);
    await unwrap(1);
    clock.advanceMicros(999_000);
    await unwrap(1);
    assert.equal(kek.unwraps, 1);
    clock.advanceMicros(1_000);
    await unwrap(1);
    assert.equal(kek.unwraps, 2);
  });

  it('are no more than the bound, the oldest going first', async () => {
    const { kek, unwrap } = await fixture(2);
    await unwrap(1);
    await unwrap(2);
    await unwrap(3);
    await unwrap(3);
    await unwrap(2);
    assert.equal(kek.unwraps, 3);
    await unwrap(1);
    assert.equal(kek.unwraps, 4);
  });

  it('are not kept at all when none may be', async () => {
    const { kek, unwrap } = await fixture(0);
    await unwrap(1);
    await unwrap(1);
    assert.equal(kek.unwraps, 2);
  });

  it('are asked for again after a failure', async () => {
    const { kek, keys, wrapped } = await fixture(10);
    const [first] = wrapped;
    assert.ok(first !== undefined);
    const unwrapKey = kek.unwrapKey;
    kek.unwrapKey = () => Promise.reject(new Error('the vault is away'));
    await assert.rejects(keys.unwrap(first), /the vault is away/);
    kek.unwrapKey = unwrapKey;
    assert.deepEqual(Buffer.from(await keys.unwrap(first)), Buffer.alloc(32, 1));
  });

  it('need a key-encryption key that the ring knows', async () => {
    const { keys, wrapped } = await fixture(10);
    const [first] = wrapped;
    assert.ok(first !== undefined);
    const stranger = { ...first, keyId: 'stranger' };
    await assert.rejects(keys.unwrap(stranger), EncryptionError);
  });
});
