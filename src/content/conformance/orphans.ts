import assert from 'node:assert/strict';
import { it } from '../../base/conformance/suite-test.js';
import { sweepSliceExtents, type ContentStore, type ExtentId } from '../content-store.js';
import {
  isThere,
  link,
  naming,
  owner,
  piecesOf,
  put,
  putWaiting,
  readAll,
  sample,
  setUp,
  sweep,
} from './samples.js';
import type { ContentSuite } from './suite.js';

async function putMany(content: ContentStore, count: number): Promise<readonly ExtentId[]> {
  return Promise.all(Array.from({ length: count }, (_, at) => put(content, sample(10, at))));
}

async function thereOf(content: ContentStore, ids: readonly ExtentId[]): Promise<boolean[]> {
  return Promise.all(ids.map((id) => isThere(content, id)));
}

/** A sweep without suspects must not ask which extents are named. */
function unasked(): Promise<ReadonlySet<ExtentId>> {
  throw new Error('the sweep asks about what is no suspect');
}

/** Nothing is deleted while a retention is held; afterwards unreferenced extents are. */
export function retentionConformance(suite: ContentSuite): void {
  it('keeps what is freed while it is retained, and deletes it afterwards', async (t) => {
    const { content, count } = await setUp(suite, t);
    const [before, freed, kept] = await putMany(content, 3);
    assert.ok(before !== undefined && freed !== undefined && kept !== undefined);
    await content.free([before]);
    const release = content.retain();
    await content.free([freed]);
    assert.deepEqual(await sweep(content, unasked), { looked: 0, deleted: 0, more: false });
    assert.deepEqual(await thereOf(content, [before, freed, kept]), [false, true, true]);
    release();
    const asked: ExtentId[] = [];
    await sweep(content, (_, ids) => {
      asked.push(...ids);
      return Promise.resolve(new Set());
    });
    assert.deepEqual(asked, [freed]);
    assert.equal(await count(), 1);
    assert.ok(await isThere(content, kept));
  });

  it('keeps what was freed while it was retained, and is named again', async (t) => {
    const { content } = await setUp(suite, t);
    const [again = '', gone = ''] = await putMany(content, 2);
    const release = content.retain();
    await content.free([again, gone]);
    release();
    await sweep(content, naming(again));
    assert.deepEqual(await thereOf(content, [again, gone]), [true, false]);
    await sweep(content, unasked);
    await content.free([again]);
    assert.ok(!(await isThere(content, again)));
  });

  it('retains until each of several has been released, each once', async (t) => {
    const { content } = await setUp(suite, t);
    const [id = ''] = await putMany(content, 1);
    const releases = [content.retain(), content.retain()];
    await content.free([id]);
    releases[0]?.();
    releases[0]?.();
    await sweep(content, naming());
    assert.ok(await isThere(content, id));
    releases[1]?.();
    await sweep(content, naming());
    assert.ok(!(await isThere(content, id)));
  });

  it('deletes nothing when something is retained while the sweep asks', async (t) => {
    const { content } = await setUp(suite, t);
    const [id = ''] = await putMany(content, 1);
    await content.suspectAll();
    let release: (() => void) | undefined;
    const isReferenced = (): Promise<ReadonlySet<ExtentId>> => {
      release ??= content.retain();
      return Promise.resolve(new Set());
    };
    await content.sweepOrphans({ isReferenced, extentsMax: 10 });
    assert.ok(await isThere(content, id));
    release?.();
    await sweep(content, naming());
    assert.ok(!(await isThere(content, id)));
  });

  it('leaves alone what waits for its commit when everything is suspected', async (t) => {
    const { content } = await setUp(suite, t);
    const [id = ''] = await putMany(content, 1);
    const waiting = await putWaiting(content, sample(10));
    const copy = (await content.link(id, owner)).id;
    await content.suspectAll();
    await sweep(content, naming());
    assert.deepEqual(await thereOf(content, [id, waiting, copy]), [false, true, true]);
    content.confirm([waiting]);
    await content.free([copy]);
    await content.suspectAll();
    await sweep(content, naming());
    assert.deepEqual(await thereOf(content, [waiting, copy]), [false, false]);
  });

  it('asks about everything once it is suspected, and deletes what nobody names', async (t) => {
    const { content, count } = await setUp(suite, t);
    const before = await putMany(content, 4);
    const linked = await link(content, before[0] ?? '', Buffer.from('of the link'));
    await content.suspectAll();
    const after = await putMany(content, 3);
    await sweep(content, naming(...before.slice(2)));
    assert.deepEqual(await thereOf(content, before), [false, false, true, true]);
    assert.ok(!(await isThere(content, linked)));
    assert.ok((await thereOf(content, after)).every(Boolean));
    assert.equal(await count(), 5);
    await sweep(content, unasked);
  });

  it('asks by owner, and names every suspect of each', async (t) => {
    const { content } = await setUp(suite, t);
    const asked = new Map<string, ExtentId[]>();
    const expected = new Map<string, ExtentId[]>();
    const owners = ['', 'a', 'b', '\0'.repeat(3000)];
    const large = await put(content, sample(100_000), Buffer.from('large'));
    for (let at = 0; at < 40; at += 1) {
      const owner = owners[at % owners.length] ?? '';
      const id =
        at % 8 < 4
          ? await put(content, sample(at), Buffer.from(owner))
          : await link(content, large, Buffer.from(owner));
      expected.set(owner, [...(expected.get(owner) ?? []), id].toSorted());
    }
    await content.suspectAll();
    await sweep(content, (owner, ids) => {
      const name = Buffer.from(owner).toString();
      asked.set(name, [...(asked.get(name) ?? []), ...ids].toSorted());
      return Promise.resolve(new Set(ids));
    });
    asked.delete('large');
    assert.deepEqual(Object.fromEntries(asked), Object.fromEntries(expected));
  });

  it('sweeps in steps, and goes on after one that was rejected', async (t) => {
    const { content, count } = await setUp(suite, t);
    const ids = await putMany(content, 3 * sweepSliceExtents);
    const kept = ids.filter((_, at) => at % 5 === 0);
    await content.suspectAll();
    const failure = new Error('the key space is busy');
    const extentsMax = sweepSliceExtents;
    let steps = 0;
    for (let more = true; more; steps += 1) {
      if (steps < 3) {
        const isReferenced = () => Promise.reject(failure);
        const failing = content.sweepOrphans({ isReferenced, extentsMax });
        await assert.rejects(failing, (error) => error === failure);
      }
      const step = await content.sweepOrphans({ isReferenced: naming(...kept), extentsMax });
      assert.ok(step.looked <= sweepSliceExtents);
      ({ more } = step);
    }
    assert.ok(steps >= 3, String(steps));
    assert.equal(await count(), kept.length);
    assert.ok((await thereOf(content, kept)).every(Boolean));
  });
}

/** Tests that a sweep deletes what dead sessions left and no entry names, and nothing else. */
export function sessionsConformance(suite: ContentSuite): void {
  it('keeps everything over a close, and asks about nothing', async (t) => {
    const { content, reopen } = await setUp(suite, t);
    assert.ok(reopen !== undefined);
    const ids = await putMany(content, 5);
    await content.free(ids.slice(3));
    const again = await reopen('closed');
    assert.deepEqual(await thereOf(again, ids), [true, true, true, false, false]);
    await sweep(again, unasked);
    assert.ok((await readAll(again, ids[0] ?? '')).equals(sample(10, 0)));
  });

  it('asks about what waited for its commit when its session was closed, and no more', async (t) => {
    const { content, reopen, count } = await setUp(suite, t);
    assert.ok(reopen !== undefined);
    const early = await putMany(content, 2);
    const second = await reopen('closed');
    const named = await put(second, sample(100_000));
    const [applied, lost] = [await putWaiting(second, sample(10)), await second.link(named, owner)];
    const third = await reopen('closed');
    assert.ok((await thereOf(third, [applied, lost.id])).every(Boolean));
    assert.equal((await sweep(third, naming(applied))).looked, 2);
    assert.deepEqual(await thereOf(third, [named, applied, lost.id]), [true, true, false]);
    assert.ok((await thereOf(third, early)).every(Boolean));
    assert.equal(await count(), 4);
    await sweep(third, unasked);
    await sweep(await reopen('closed'), unasked);
  });

  it('asks about nothing of a session whose extents were all confirmed or freed', async (t) => {
    const { content, reopen, count } = await setUp(suite, t);
    assert.ok(reopen !== undefined);
    const named = await put(content, sample(100_000));
    const [kept, freed] = [await content.link(named, owner), await putWaiting(content, sample(10))];
    content.confirm([kept.id, 'no-such-extent']);
    await content.free([freed]);
    await sweep(await reopen('closed'), unasked);
    assert.equal(await count(), 2);
  });

  it('lets a process beside delete what waited when it was closed, and not before', async (t) => {
    const { content, openBeside } = await setUp(suite, t);
    assert.ok(openBeside !== undefined);
    const waiting = await putWaiting(content, sample(10));
    const beside = await openBeside();
    await sweep(beside, unasked);
    assert.ok(await isThere(beside, waiting));
    await content.close();
    await sweep(beside, naming());
    assert.ok(!(await isThere(beside, waiting)));
  });

  it('deletes what a crashed session has left unnamed, and nothing else', async (t) => {
    const { content, reopen, count } = await setUp(suite, t);
    assert.ok(reopen !== undefined);
    const early = await putMany(content, 2);
    const second = await reopen('closed');
    const late = await putMany(second, 3);
    const link = await second.link(await put(second, sample(100_000)), Buffer.from('link'));
    const third = await reopen('crashed');
    const own = await putMany(third, 2);
    await sweep(third, naming(late[1] ?? ''));
    assert.deepEqual(await thereOf(third, late), [false, true, false]);
    assert.ok(!(await isThere(third, link.id)));
    assert.ok((await thereOf(third, [...early, ...own])).every(Boolean));
    assert.equal(await count(), 5);
    await sweep(third, unasked);
    await sweep(await reopen('closed'), unasked);
  });

  it('finds the orphans of several crashes', async (t) => {
    const { content, reopen, count } = await setUp(suite, t);
    assert.ok(reopen !== undefined);
    let current = content;
    const named: ExtentId[] = [];
    for (let round = 0; round < 4; round += 1) {
      const [kept = ''] = await putMany(current, 3);
      named.push(kept);
      current = await reopen('crashed');
    }
    await sweep(current, naming(...named));
    assert.equal(await count(), named.length);
  });

  it('finds what was freed while it was retained, in a later session', async (t) => {
    for (const end of ['closed', 'crashed'] as const) {
      const { content, reopen, count } = await setUp(suite, t);
      assert.ok(reopen !== undefined);
      const [early = ''] = await putMany(content, 1);
      const second = await reopen('closed');
      const [freed = '', kept = ''] = await putMany(second, 2);
      second.retain();
      await second.free([early, freed]);
      const third = await reopen(end);
      await sweep(third, naming(kept));
      assert.ok(await isThere(third, kept));
      assert.equal(await count(), 1);
      await sweep(await reopen('closed'), unasked);
    }
  });

  it('still suspects everything in a later session, when nothing was swept', async (t) => {
    const { content, reopen, count } = await setUp(suite, t);
    assert.ok(reopen !== undefined);
    const ids = await putMany(content, 4);
    await content.suspectAll();
    await sweep(await reopen('closed'), naming(...ids.slice(1)));
    assert.equal(await count(), 3);
  });

  it('touches nothing of a session that lives beside', async (t) => {
    const { content, openBeside } = await setUp(suite, t);
    assert.ok(openBeside !== undefined);
    const beside = await openBeside();
    const ids = await putMany(beside, 3);
    await sweep(content, unasked);
    await content.suspectAll();
    await sweep(content, unasked);
    assert.ok((await thereOf(content, ids)).every(Boolean));
    await content.free(ids.slice(1));
    assert.deepEqual(await thereOf(beside, ids), [true, false, false]);
    await put(beside, sample(10));
  });

  it('leaves a put alone that goes on while another process sweeps', async (t) => {
    const { content, openBeside } = await setUp(suite, t);
    assert.ok(openBeside !== undefined);
    const beside = await openBeside();
    const bytes = sample(400_000);
    async function* slow(): AsyncGenerator<Buffer, void, void> {
      for await (const piece of piecesOf(bytes)) {
        await sweep(beside, unasked);
        yield piece;
      }
    }
    const { id } = await content.put(slow(), Buffer.from('slow'));
    assert.ok((await readAll(beside, id)).equals(bytes));
  });
}
