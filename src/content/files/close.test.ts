import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import {
  bound,
  temporaryContent,
  type WrapFiles,
} from '../../../test/support/content/temporary-content.js';
import { manualTimers, type ManualTimers } from '../../../test/support/manual-timers.js';
import { deferred } from '../../base/async/deferred.js';
import { nextTurn } from '../../base/async/turns.js';
import { naming, owner, piecesOf, put, putWaiting, sample, sweep } from '../conformance/samples.js';
import { ContentClosedError, ContentWriteError } from '../errors.js';
import type { ContentFiles, NewFile } from './content-files.js';

/** Lets a test hold one kind of operation of the disk back. */
class Stall {
  #held: { readonly reached: () => void; readonly released: Promise<void> } | undefined;

  /** From now on operations wait. `reached` resolves when the first one does. */
  hold(): { readonly reached: Promise<void>; readonly release: () => void } {
    const [reached, released] = [deferred(), deferred()];
    this.#held = { reached: reached.resolve, released: released.promise };
    return { reached: reached.promise, release: released.resolve };
  }

  async pass(): Promise<void> {
    this.#held?.reached();
    await this.#held?.released;
  }
}

interface Stalls {
  /** Of files. */
  readonly syncs: Stall;
  /** About sessions. */
  readonly notes: Stall;
  readonly opens: Stall;
}

/** A disk some of whose operations may be held back. The paths of new files go into `created`. */
const stallingDisk =
  ({ syncs, notes, opens }: Stalls, created: string[]): WrapFiles =>
  (files: ContentFiles) =>
    new Proxy(files, {
      get(target, name) {
        if (name === 'open') return (path: string) => opens.pass().then(() => target.open(path));
        if (name !== 'create') return bound(target, name);
        return async (path: string): Promise<NewFile> => {
          if (path.startsWith('sessions/')) await notes.pass();
          created.push(path);
          const file = await target.create(path);
          const sync = () => syncs.pass().then(() => file.sync());
          return { append: (parts) => file.append(parts), sync, close: () => file.close() };
        };
      },
    });

async function setUp(t: TestContext) {
  const stalls = { syncs: new Stall(), notes: new Stall(), opens: new Stall() };
  const created: string[] = [];
  const timers = manualTimers();
  const opened = await temporaryContent({ wrap: stallingDisk(stalls, created), timers });
  t.after(opened.dispose);
  return { ...opened, ...stalls, created, timers, pass: () => pass(timers) };
}

/**
 * Lets the time pass that a close gives to what it waits for now. What comes after it begins only
 * when this has returned, and gets its own time.
 */
function pass(timers: ManualTimers): void {
  assert.ok(timers.waiting > 0, 'the close waits');
  while (timers.waiting > 0) timers.fire();
}

/** A caller takes some turns to learn what became of its commit. */
async function aCommitLater(): Promise<void> {
  for (let turns = 0; turns < 50; turns += 1) await nextTurn();
}

const unasked = () => Promise.reject(new Error('nothing is a suspect'));

describe('a close', () => {
  it('lets an extent be freed that was in its last sync, and leaves none to the sweep', async (t) => {
    const { content, syncs, count, reopen, timers } = await setUp(t);
    const first = await putWaiting(content, sample(10));
    const { reached, release } = syncs.hold();
    const putting = content.put(piecesOf(sample(20)), owner);
    await reached;
    const closing = content.close();
    await assert.rejects(content.put(piecesOf(sample(30)), owner), ContentClosedError);
    release();
    const { id } = await putting;
    await aCommitLater();
    // As a copy frees all that it has stored.
    await content.free([first, id]);
    await closing;
    assert.equal(timers.waiting, 0);
    assert.equal(await count(), 0);
    await assert.rejects(content.free([id]), ContentClosedError);
    await sweep(await reopen('closed'), unasked);
  });

  it('waits for the commit of an extent that was in its last sync', async (t) => {
    const { content, syncs, reopen } = await setUp(t);
    const { reached, release } = syncs.hold();
    const putting = content.put(piecesOf(sample(20)), owner);
    await reached;
    const closing = content.close();
    release();
    const { id } = await putting;
    await aCommitLater();
    content.confirm([id]);
    await closing;
    assert.equal(content.waiting, 0);
    await sweep(await reopen('closed'), unasked);
  });

  it('waits for bytes that do not come no longer than its limit', async (t) => {
    const { content, count, reopen, pass } = await setUp(t);
    const named = await put(content, sample(10));
    const [asked, more] = [deferred(), deferred()];
    async function* slowly(): AsyncGenerator<Buffer, void, void> {
      yield sample(500_000);
      asked.resolve();
      await more.promise;
      yield sample(500_000);
    }
    const putting = content.put(slowly(), owner);
    const refused = assert.rejects(putting, ContentClosedError);
    await asked.promise;
    const closing = content.close();
    pass();
    await closing;
    assert.equal(content.waiting, 1);
    const again = await reopen('closed');
    assert.deepEqual(await sweep(again, naming(named)), { looked: 1, deleted: 1, more: false });
    more.resolve();
    await refused;
    assert.equal(await count(), 1);
  });

  it('creates no file after its limit, which its note could not name', async (t) => {
    const { content, opens, created, pass } = await setUp(t);
    const named = await put(content, sample(10));
    const { reached, release } = opens.hold();
    const refused = assert.rejects(content.link(named, owner), ContentClosedError);
    await reached;
    const closing = content.close();
    pass();
    await closing;
    const before = [...created];
    release();
    await refused;
    assert.deepEqual(created, before);
  });

  it('waits for a commit that is not told of no longer than its limit', async (t) => {
    const { content, syncs, count, reopen, pass } = await setUp(t);
    const { reached, release } = syncs.hold();
    const putting = content.put(piecesOf(sample(20)), owner);
    await reached;
    const closing = content.close();
    release();
    const { id } = await putting;
    pass();
    await closing;
    await assert.rejects(content.free([id]), ContentClosedError);
    assert.equal((await sweep(await reopen('closed'), naming())).deleted, 1);
    assert.equal(await count(), 0);
  });

  it('waits for a disk that does not answer no longer than its limit, and loses nothing', async (t) => {
    const { content, syncs, notes, openBeside, pass } = await setUp(t);
    const named = await put(content, sample(10));
    await putWaiting(content, sample(20));
    const beside = await openBeside();
    const { reached, release } = syncs.hold();
    const putting = content.put(piecesOf(sample(30)), owner);
    const refused = assert.rejects(putting, ContentWriteError);
    await reached;
    const noted = notes.hold();
    const closing = content.close();
    pass();
    await noted.reached;
    pass();
    await closing;
    assert.deepEqual(await sweep(beside, naming(named)), { looked: 3, deleted: 2, more: false });
    release();
    await refused;
    assert.deepEqual(await sweep(beside, unasked), { looked: 0, deleted: 0, more: false });
  });

  for (const way of ['abandon', 'abandonWithProcess'] as const) {
    it(`waits no longer to ${way}`, async (t) => {
      const { content, syncs, pass } = await setUp(t);
      const { reached, release } = syncs.hold();
      const putting = content.put(piecesOf(sample(10)), owner);
      const refused = assert.rejects(putting, ContentClosedError);
      await reached;
      const leaving = content[way]();
      pass();
      await leaving;
      release();
      await refused;
    });
  }
});
