import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { at, body, openBlobs } from '../../../test/support/blob-world.js';
import { manualClock } from '../../base/clock.js';
import { openMemoryStore } from '../../engines/memory/store.js';
import type { AccessTier, BlobKind } from '../../model/blobs/properties.js';
import { checkTierOfKind } from './tiers.js';

const tiers = ['Hot', 'Cool', 'Cold', 'Archive'] as const;
const lease = '11111111-0000-4000-8000-000000000000';

/** A body that must not be taken in. */
function unread(): AsyncIterable<Buffer> {
  return { [Symbol.asyncIterator]: () => assert.fail('the body of what is refused was taken') };
}

async function setUp() {
  const clock = manualClock();
  const world = await openBlobs(await openMemoryStore({ clock }), clock);
  const blob = { headers: {}, metadata: [], tags: [['k', 'a']] as const };
  await world.blobs.putBlockBlob(at('b'), blob, { body: body('x') });
  return world;
}

describe('the tier of a blob', () => {
  it('changes to every other, and comes back from the archive', async () => {
    const { blobs } = await setUp();
    for (const from of tiers) {
      for (const to of tiers) {
        await blobs.setTier(at('b'), from);
        const outcome = await blobs.setTier(at('b'), to);
        assert.equal(outcome, from === 'Archive' && to !== 'Archive' ? 'rehydrated' : 'set');
        assert.equal((await blobs.getProperties(at('b'))).tier?.tier, to);
      }
    }
  });

  it('keeps the ETag, and tells when it changed', async () => {
    const { blobs, clock } = await setUp();
    const before = await blobs.getProperties(at('b'));
    assert.equal(before.tier, undefined);
    clock.advanceMicros(5_000_000);
    await blobs.setTier(at('b'), 'Cool');
    const { tier, modifiedMicros } = await blobs.getProperties(at('b'));
    assert.equal(modifiedMicros, before.modifiedMicros);
    assert.equal(tier?.changedMicros, clock.nowMicros());
  });

  it('keeps an archived blob from being read', async () => {
    const { blobs } = await setUp();
    await blobs.setTier(at('b'), 'Archive');
    await assert.rejects(blobs.getBlob(at('b')), { code: 'BlobArchived' });
    await blobs.setTier(at('b'), 'Hot');
    (await blobs.getBlob(at('b'))).close();
  });

  it('needs the lease and the tags that it is asked with', async () => {
    const { blobs } = await setUp();
    const ifTags = { kind: 'comparison', tag: 'k', operator: '=', value: 'b' } as const;
    const unmet = blobs.setTier(at('b'), 'Cool', { conditions: { ifTags } });
    await assert.rejects(unmet, { code: 'ConditionNotMet' });
    await blobs.leaseBlob(at('b'), { kind: 'acquire', duration: 'infinite', proposedId: lease });
    await assert.rejects(blobs.setTier(at('b'), 'Cool'), { code: 'LeaseIdMissing' });
    await blobs.setTier(at('b'), 'Cool', { leaseId: lease });
    await assert.rejects(blobs.setTier(at('c'), 'Cool'), { code: 'BlobNotFound' });
  });

  it('is one that blobs of its kind have', () => {
    const allowed = (kind: BlobKind, tier: AccessTier): boolean => {
      try {
        checkTierOfKind(kind, tier);
        return true;
      } catch {
        return false;
      }
    };
    assert.deepEqual(
      tiers.map((tier) => allowed('block', tier)),
      [true, true, true, true],
    );
    assert.deepEqual(
      tiers.map((tier) => allowed('append', tier)),
      [false, false, false, false],
    );
    assert.deepEqual(
      tiers.map((tier) => allowed('page', tier)),
      [false, false, false, false],
    );
    assert.deepEqual(
      (['block', 'append', 'page'] as const).map((kind) => allowed(kind, 'P10')),
      [false, false, true],
    );
  });

  it('is refused to a blob that is written with one of another kind, before anything is stored', async () => {
    const { blobs } = await setUp();
    const given = (tier: AccessTier) => ({ headers: {}, metadata: [], tags: [], tier: { tier } });
    const code = 'AccessTierNotSupportedForBlobType';
    const pages = (tier: AccessTier, bytes: number) =>
      blobs.putPageBlob(at('p'), { ...given(tier), bytes, sequenceNumber: 0n });
    await assert.rejects(blobs.putAppendBlob(at('a'), given('Hot')), { code });
    await assert.rejects(pages('Cool', 512), { code });
    await assert.rejects(blobs.putBlockBlob(at('n'), given('P4'), { body: unread() }), { code });
    await assert.rejects(blobs.putBlockList(at('n'), { ...given('P4'), blocks: [] }), { code });
    const tooLarge = { code: 'BlobTierInadequateForContentLength' };
    await assert.rejects(pages('P4', 33 * 2 ** 30), tooLarge);
    for (const name of ['a', 'p', 'n']) {
      await assert.rejects(blobs.getProperties(at(name)), { code: 'BlobNotFound' });
    }
    await pages('P10', 512);
    assert.equal((await blobs.getProperties(at('p'))).tier?.tier, 'P10');
    await pages('P4', 512);
    assert.equal((await blobs.getProperties(at('p'))).tier?.tier, 'P4');
  });
});
