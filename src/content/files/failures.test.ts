import assert from 'node:assert/strict';
import { readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import {
  bound,
  systemError,
  temporaryContent,
  type WrapFiles,
} from '../../../test/support/content/temporary-content.js';
import { costly, byLength, sampled } from '../../../test/support/run-length.js';
import {
  isThere,
  naming,
  owner,
  piecesOf,
  put,
  putWaiting,
  readAll,
  sample,
  sweep,
} from '../conformance/samples.js';
import type { ExtentId } from '../content-store.js';
import { ContentWriteError } from '../errors.js';
import type { ContentFiles, NewFile } from './content-files.js';

// A disk whose operations fail, each in its turn: what was acknowledged is there, and what was
// refused leaves nothing behind.

interface Faults {
  /** The operation that fails, counted from 1; 0 for none. */
  at: number;
  code: string;
  done: number;
  only?: string;
}

const changing: ReadonlySet<string | symbol> = new Set([
  'create',
  'link',
  'rename',
  'remove',
  'makeFolder',
  'removeFolder',
  'syncFolder',
  'checkWritable',
]);

function failing(faults: Faults): WrapFiles {
  const step = (name: string): void => {
    if (faults.only !== undefined && faults.only !== name) return;
    faults.done += 1;
    if (faults.done === faults.at) throw systemError(faults.code);
  };
  return (files) =>
    new Proxy(files, {
      get(target, name) {
        const member = bound(target, name) as (...given: unknown[]) => Promise<unknown>;
        if (!changing.has(name)) return member;
        return async (...given: unknown[]) => {
          step(String(name));
          const made = await member(...given);
          return name === 'create' ? withFaults(made as NewFile) : made;
        };
      },
    });

  function withFaults(file: NewFile): NewFile {
    return {
      async append(parts) {
        try {
          step('append');
        } catch (error) {
          // Half of it was written.
          const bytes = Buffer.concat(parts);
          await file.append([bytes.subarray(0, bytes.length / 2)]);
          throw error;
        }
        await file.append(parts);
      },
      async sync() {
        step('sync');
        await file.sync();
      },
      async close() {
        await file.close();
        step('close');
      },
    };
  }
}

describe('a disk that fails', () => {
  it(
    'leaves what was acknowledged, and nothing of what was refused, at any operation',
    costly(),
    async () => {
      // A sixth of the operations in the short form, from one that is drawn.
      const step = byLength({ short: 6, long: 1 });
      const [first = 1] = byLength({ short: sampled([1, 2, 3, 4, 5, 6], 1), long: [1] });
      for (const code of byLength({ short: ['EIO'], long: ['EIO', 'ENOSPC'] })) {
        for (let at = first, isOver = false; !isOver; at += step) {
          const faults: Faults = { at: 0, code, done: 0 };
          const opened = await temporaryContent({ wrap: failing(faults) });
          try {
            faults.at = at;
            const { named, notes } = await workOn(opened.content);
            isOver = faults.done < at;
            faults.at = 0;
            const again = await opened.reopen('closed');
            await again.free(notes);
            await sweep(again, naming(...named.keys()));
            for (const [id, bytes] of named) assert.ok((await readAll(again, id)).equals(bytes));
            assert.equal(await opened.count(), named.size, `${code} at operation ${at}`);
          } finally {
            await opened.dispose();
          }
        }
      }
    },
  );

  it('is full: says so, stores nothing, and stores again when there is room', async (t) => {
    const { content, leaveRoom, count, dispose } = await temporaryContent();
    t.after(dispose);
    const large = await put(content, sample(100_000));
    leaveRoom(50);
    const refused = [
      () => content.put(piecesOf(sample(10)), owner),
      () => content.put(piecesOf(sample(500_000)), owner),
      () => content.link(large, Buffer.alloc(100)),
    ];
    for (const call of refused) {
      await assert.rejects(call(), (error) => error instanceof ContentWriteError && error.isFull);
      leaveRoom(50);
    }
    assert.equal(await count(), 1);
    assert.ok((await readAll(content, large)).equals(sample(100_000)));
    await content.free([large]);
    leaveRoom(Infinity);
    assert.ok(await isThere(content, await put(content, sample(10))));
  });

  it('finds in a later session what it could not free', async (t) => {
    const faults: Faults = { at: 0, code: 'EIO', done: 0, only: 'remove' };
    const { content, reopen, count, dispose } = await temporaryContent({ wrap: failing(faults) });
    t.after(dispose);
    const named = await put(content, sample(10));
    const refused = await putWaiting(content, sample(20));
    faults.at = faults.done + 1;
    await assert.rejects(content.free([refused]), ContentWriteError);
    assert.equal(await count(), 2);
    const again = await reopen('closed');
    await sweep(again, naming(named));
    assert.ok(await isThere(again, named));
    assert.equal(await count(), 1);
  });

  it('looks at nothing again that it could free later', async (t) => {
    const faults: Faults = { at: 0, code: 'EIO', done: 0, only: 'remove' };
    const { content, reopen, dispose } = await temporaryContent({ wrap: failing(faults) });
    t.after(dispose);
    const refused = await putWaiting(content, sample(20));
    faults.at = faults.done + 1;
    await assert.rejects(content.free([refused]), ContentWriteError);
    await content.free([refused]);
    const unasked = () => Promise.reject(new Error('nothing is a suspect'));
    assert.equal((await sweep(await reopen('closed'), unasked)).looked, 0);
  });

  it('asks about all of a session that could not note what waits', async (t) => {
    for (const only of ['create', 'append', 'sync', 'close', 'rename']) {
      const faults: Faults = { at: 0, code: 'ENOSPC', done: 0, only };
      const { content, directory, reopen, dispose } = await temporaryContent({
        wrap: failing(faults),
      });
      t.after(dispose);
      const named = await put(content, sample(10));
      await putWaiting(content, sample(20));
      faults.at = faults.done + 1;
      const again = await reopen('closed');
      assert.deepEqual(await sweep(again, naming(named)), { looked: 2, deleted: 1, more: false });
      const left = await readdir(join(directory, 'content', 'sessions'));
      assert.ok(!left.some((name) => name.endsWith('.new')));
    }
  });

  it('ends a session whose empty folder it could not remove', async (t) => {
    const faults: Faults = { at: 0, code: 'EIO', done: 0, only: 'removeFolder' };
    const { content, count, openBeside, dispose } = await temporaryContent({
      wrap: failing(faults),
    });
    t.after(dispose);
    await putWaiting(content, sample(20));
    faults.at = faults.done + 1;
    await assert.rejects(content.close(), { code: 'EIO' });
    await sweep(await openBeside(), naming());
    assert.equal(await count(), 0);
  });

  it('stores no extent whose last sync has failed', async (t) => {
    const faults: Faults = { at: 0, code: 'EIO', done: 0, only: 'sync' };
    const { content, count, dispose } = await temporaryContent({ wrap: failing(faults) });
    t.after(dispose);
    faults.at = faults.done + 1;
    await assert.rejects(put(content, sample(10)), (error) => {
      return error instanceof ContentWriteError && !error.isFull;
    });
    assert.equal(await count(), 0);
  });
});

describe('a file system without hard links', () => {
  it('gives links as copies', async (t) => {
    for (const code of ['EPERM', 'EMLINK', 'ENOTSUP']) {
      const without: WrapFiles = (files: ContentFiles) =>
        new Proxy(files, {
          get: (target, name) =>
            name === 'link' ? () => Promise.reject(systemError(code)) : bound(target, name),
        });
      const { content, count, dispose } = await temporaryContent({ wrap: without });
      t.after(dispose);
      const first = await put(content, sample(300_000));
      const { id } = await content.link(first, owner);
      await content.free([first]);
      assert.ok((await readAll(content, id)).equals(sample(300_000)));
      assert.equal(await count(), 1);
    }
  });
});

describe('a session that another process takes for dead', () => {
  it('acknowledges nothing any more', async (t) => {
    const { content, directory, dispose, count } = await temporaryContent();
    t.after(dispose);
    await put(content, sample(10));
    const sessions = join(directory, 'content', 'sessions');
    await rename(sessions, `${sessions}-moved`);
    await assert.rejects(put(content, sample(10)), ContentWriteError);
    assert.equal(await count(), 1);
    await rename(`${sessions}-moved`, sessions);
    await put(content, sample(10));
  });
});

describe('content whose folder is away', () => {
  it('says so, frees nothing, and goes on when the folder is back', async (t) => {
    const { content, directory, dispose, count } = await temporaryContent();
    t.after(dispose);
    const id = await put(content, sample(10));
    await content.checkPlace();
    const folder = join(directory, 'content');
    await rename(folder, `${folder}-moved`);
    await assert.rejects(content.checkPlace(), /ENOENT.*put it back as it was/);
    await assert.rejects(content.free([id]), ContentWriteError);
    await rename(`${folder}-moved`, folder);
    await content.checkPlace();
    assert.ok(await isThere(content, id));
    await content.free([id]);
    assert.equal(await count(), 0);
  });

  it('says so when the disk takes no writes', async (t) => {
    const faults = { code: 'EROFS', only: 'checkWritable', at: 2, done: 0 };
    const { content, dispose } = await temporaryContent({ wrap: failing(faults) });
    t.after(dispose);
    await assert.rejects(content.checkPlace(), /EROFS.*so that it can be written/);
    await content.checkPlace();
  });
});

describe('content whose directory was removed', () => {
  it('closes in order: nothing is left that it had to end', async (t) => {
    const { content, directory, dispose } = await temporaryContent();
    t.after(dispose);
    await put(content, sample(10));
    await rm(directory, { recursive: true });
    await content.close();
  });
});

/** What a service does, which goes on after a refusal. */
async function workOn(content: Awaited<ReturnType<typeof temporaryContent>>['content']) {
  const named = new Map<ExtentId, Buffer>();
  const notes: ExtentId[] = [];
  const attempt = async (work: () => Promise<void>): Promise<void> => {
    try {
      await work();
    } catch (error) {
      assert.ok(error instanceof ContentWriteError, String(error));
    }
  };
  for (const bytes of [sample(10), sample(200_000)]) {
    await attempt(async () => void named.set(await put(content, bytes), bytes));
  }
  const large = Array.from(named).find(([, bytes]) => bytes.length > 100_000);
  if (large !== undefined) {
    await attempt(async () => {
      named.set((await content.link(large[0], owner)).id, large[1]);
    });
  }
  for (const id of Array.from(named.keys()).slice(0, 2)) {
    named.delete(id);
    notes.push(id);
    await attempt(() => content.free([id]));
  }
  const release = content.retain();
  const [retained] = named.keys();
  if (retained !== undefined) {
    named.delete(retained);
    notes.push(retained);
    await attempt(() => content.free([retained]));
  }
  release();
  await attempt(async () => void named.set(await put(content, sample(20)), sample(20)));
  await attempt(() => content.suspectAll());
  await sweep(content, naming(...named.keys())).catch(() => undefined);
  return { named, notes };
}
