import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { temporaryContent } from '../../../test/support/content/temporary-content.js';
import {
  account,
  at,
  body,
  container,
  large,
  plain,
  readAll,
  settle,
} from '../../../test/support/blob-world.js';
import { manualTimers } from '../../../test/support/manual-timers.js';
import { manualClock } from '../../base/clock.js';
import { forwardClock } from '../../base/forward-clock.js';
import { systemRandomness } from '../../base/randomness.js';
import type { ContentStore } from '../../content/content-store.js';
import { ContentWriteError } from '../../content/errors.js';
import { openMemoryStore } from '../../engines/memory/store.js';
import { CommitUnknownError } from '../../kv/errors.js';
import type { Store } from '../../kv/store.js';
import { BlobService } from './blob-service.js';

const md5Mismatch = { code: 'Md5Mismatch' };

type Outcome = 'known' | 'applied, and unknown' | 'lost, and unknown';

async function world(t: TestContext) {
  const clock = manualClock();
  const store = await openMemoryStore({ clock });
  const opened = await temporaryContent();
  t.after(opened.dispose);
  const commits: { outcome: Outcome } = { outcome: 'known' };
  const serve = (content: ContentStore): BlobService =>
    new BlobService({
      store: doubtful(store, commits),
      content,
      clock: forwardClock(clock),
      timers: manualTimers(),
      randomness: systemRandomness,
    });
  const blobs = serve(opened.content);
  await blobs.containers.create({ account, container }, { metadata: [], publicAccess: 'none' });
  return { ...opened, clock, commits, blobs, serve };
}

/** A store that does not always tell whether a commit was applied. */
function doubtful(store: Store, commits: { readonly outcome: Outcome }): Store {
  return {
    get: (key) => store.get(key),
    getMany: (keys) => store.getMany(keys),
    range: (range, options) => store.range(range, options),
    async commit(batch) {
      if (commits.outcome === 'known') return store.commit(batch);
      if (commits.outcome === 'applied, and unknown') await store.commit(batch);
      throw new CommitUnknownError('made by a test');
    },
    close: () => store.close(),
  };
}

const put = (blobs: BlobService, name: string) =>
  blobs.putBlockBlob(at(name), plain, { body: body(large) });

const copy = (blobs: BlobService, name: string) =>
  blobs.copyBlob(at(name), { source: at('known'), sourceUrl: 'http://s/c/known', tags: [] });

/** A refusal that is known when all bytes are stored. */
const putWrong = (blobs: BlobService) =>
  blobs.putBlockBlob(at('wrong'), { ...plain, md5: Buffer.alloc(16) }, { body: body(large) });

describe('extents that were stored for a commit', () => {
  it('are kept or freed after an orderly end, as the outcome was that was not known', async (t) => {
    const { blobs, commits, clock, count, reopen, serve } = await world(t);
    await put(blobs, 'known');
    for (const outcome of ['applied, and unknown', 'lost, and unknown'] as const) {
      commits.outcome = outcome;
      await assert.rejects(put(blobs, outcome), CommitUnknownError);
      await assert.rejects(copy(blobs, `copy ${outcome}`), CommitUnknownError);
    }
    commits.outcome = 'known';
    await settle({ clock, services: [blobs] });
    assert.equal(await count(), 5);
    const again = serve(await reopen('closed'));
    await settle({ clock, services: [again] });
    assert.equal(await count(), 3);
    for (const name of ['known', 'applied, and unknown', 'copy applied, and unknown']) {
      assert.ok((await readAll(again, at(name))).equals(large), name);
    }
  });

  it('are not looked at again when every outcome was known', async (t) => {
    const { blobs, reopen } = await world(t);
    await put(blobs, 'known');
    await copy(blobs, 'copy');
    await assert.rejects(putWrong(blobs), md5Mismatch);
    const again = await reopen('closed');
    const asked = () => Promise.reject(new Error('nothing is a suspect'));
    assert.equal((await again.sweepOrphans({ isReferenced: asked, extentsMax: 9 })).looked, 0);
  });

  it('leave the reason of a refusal as it is when they cannot be freed', async (t) => {
    const { content, serve } = await world(t);
    const fault = new ContentWriteError('made by a test', { isFull: false });
    const broken: ContentStore = new Proxy(content, {
      get(target, name) {
        if (name === 'free') return () => Promise.reject(fault);
        const member: unknown = Reflect.get(target, name);
        return typeof member === 'function' ? member.bind(target) : member;
      },
    });
    await assert.rejects(putWrong(serve(broken)), md5Mismatch);
  });
});
