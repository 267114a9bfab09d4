import assert from 'node:assert/strict';
import { readdir, rename, rm, symlink, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { holdingTimers, type Timers } from '../../base/async/timers.js';
import { manualTimers, type ManualTimers } from '../../../test/support/manual-timers.js';
import {
  holding,
  journalDirectory,
  untilFolders,
  withWrites,
} from '../../../test/support/journals.js';
import {
  CommitUnknownError,
  StoreFailedError,
  StoreWriteError,
  type StoreFailedError as Failure,
} from '../../kv/errors.js';
import type { Ingestion } from '../../kv/ingestion.js';
import { partitionPrefix } from '../../kv/partition-prefix.js';
import type { Store } from '../../kv/store.js';
import { encodeTuple } from '../../kv/tuple.js';
import type { JournalFiles } from './journal-files.js';
import type { JournalBase } from './store.js';

function keyOf(name: string): Uint8Array {
  return Buffer.concat([partitionPrefix('T', 'account', 1, 'p'), encodeTuple([name])]);
}

async function put(store: Store, name: string, bytes = 10): Promise<void> {
  const puts = [{ key: keyOf(name), value: Buffer.alloc(bytes) }];
  assert.ok((await store.commit({ checks: [], puts, deletes: [] })).ok);
}

async function has(store: Store, name: string): Promise<boolean> {
  return (await store.get(keyOf(name))) !== undefined;
}

/** Files whose next `state.writes` writes fail, after some bytes of each. */
function failing() {
  const state = { writes: 0 };
  const files = withWrites((write) => async (bytes, position) => {
    if (state.writes === 0) return write(bytes, position);
    state.writes -= 1;
    await write(bytes.subarray(0, 1_000), position);
    throw new Error('EIO: i/o error, write');
  });
  return { state, files };
}

/** Nothing waits for long, but limits stay as they are. */
const hasty: Timers = {
  start: (delayMs, callback, argument) =>
    holdingTimers.start(delayMs > 5_000 ? delayMs : Math.min(delayMs, 20), callback, argument),
};

/** A base that takes nothing while it is told so. */
function refusing() {
  const state = { refuses: false };
  const base = (memory: JournalBase): JournalBase =>
    new Proxy(memory, {
      get(target, name) {
        if (name === 'ingest') {
          return async (ingestion: Ingestion) => {
            if (state.refuses) throw new StoreWriteError('ENOSPC: no space left on device');
            await target.ingest(ingestion);
          };
        }
        const found: unknown = Reflect.get(target, name, target);
        return typeof found === 'function' ? found.bind(target) : found;
      },
    });
  return { state, base };
}

/** Files of which none can be made that is larger than what is free. */
function full() {
  const state = { freeBytes: Infinity };
  const files = (disk: JournalFiles): JournalFiles =>
    new Proxy(disk, {
      get(target, name) {
        const found: unknown = Reflect.get(target, name, target);
        if (name !== 'create') return typeof found === 'function' ? found.bind(target) : found;
        const create: JournalFiles['create'] = async (number, head, bytes) => {
          if (bytes <= state.freeBytes) return target.create(number, head, bytes);
          throw Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' });
        };
        return create;
      },
    });
  return { state, files };
}

/** Folders that cannot be removed while it is told so. */
function stuck(removal: 'removeRetired' | 'removeAll') {
  const state = { isStuck: true };
  const files = (disk: JournalFiles): JournalFiles =>
    new Proxy(disk, {
      get(target, name) {
        const found: unknown = Reflect.get(target, name, target);
        if (typeof found !== 'function') return found;
        if (name !== removal || !state.isStuck) return found.bind(target);
        return () => Promise.reject(new Error('EACCES: permission denied, rmdir'));
      },
    });
  return { state, files };
}

/** Files of which no further one comes to be while it is told so. */
function withoutNext() {
  const state = { hangs: false, asked: 0, answer: (): void => undefined };
  const files = (disk: JournalFiles): JournalFiles =>
    new Proxy(disk, {
      get(target, name) {
        const found: unknown = Reflect.get(target, name, target);
        if (name !== 'create') return typeof found === 'function' ? found.bind(target) : found;
        const create: JournalFiles['create'] = async (...made) => {
          state.asked += 1;
          if (state.hangs) await new Promise<void>((resolve) => (state.answer = resolve));
          return target.create(...made);
        };
        return create;
      },
    });
  return { state, files };
}

/** Files of former openings whose removal ends only when its signal is aborted. */
function endless() {
  const state = { removals: 0 };
  const files = (disk: JournalFiles): JournalFiles =>
    new Proxy(disk, {
      get(target, name) {
        const found: unknown = Reflect.get(target, name, target);
        if (typeof found !== 'function') return found;
        if (name !== 'removeRetired' && name !== 'removeAll') return found.bind(target);
        return async (signal?: AbortSignal) => {
          state.removals += 1;
          if (signal?.aborted === true) return;
          await new Promise((resolve) => signal?.addEventListener('abort', resolve));
        };
      },
    });
  return { state, files };
}

/** Waits until a close has begun to count the time that removals may take. */
async function untilLimited(timers: ManualTimers): Promise<void> {
  for (let turn = 0; !timers.delays.includes(3_000); turn += 1) {
    assert.ok(turn < 10_000, 'the removals of a close have a limit');
    await pause(0);
  }
}

/** Files of which one look fails while it is told so. */
function seenOnce(files: JournalFiles, state: { isAway: boolean }): JournalFiles {
  const make = files.create.bind(files);
  const create: JournalFiles['create'] = async (...made) => {
    const file = await make(...made);
    const look = file.detachment.bind(file);
    file.detachment = () => {
      if (!state.isAway) return look();
      state.isAway = false;
      return 'cannot be looked at (EIO)';
    };
    return file;
  };
  return Object.assign(files, { create });
}

/** Refuses as soon as it has restored a snapshot. */
function thenRefusing(base: JournalBase, state: { refuses: boolean }): JournalBase {
  return new Proxy(base, {
    get(target, name) {
      const found: unknown = Reflect.get(target, name, target);
      if (name !== 'restoreSnapshot' || typeof found !== 'function') return found;
      return async (...args: readonly unknown[]) => {
        await found.apply(target, args);
        state.refuses = true;
      };
    },
  });
}

describe('failures of a journal', () => {
  it('opens the restored snapshot after a kill, though the base has taken nothing since', async () => {
    await using made = await journalDirectory();
    const { state, base } = refusing();
    const store = await made.open({ base: (memory) => thenRefusing(base(memory), state) });
    await put(store, 'kept');
    const snapshot = await store.takeSnapshot();
    // The files that the snapshot speaks of are used up and taken away.
    for (let count = 0; count < 20; count += 1) await put(store, `lost ${count}`, 32_000);
    await store.restoreSnapshot(snapshot);
    const next = await made.open();
    assert.deepEqual([await has(next, 'kept'), await has(next, 'lost 0')], [true, false]);
  });

  it('annuls a write that failed, and goes on', async () => {
    await using made = await journalDirectory();
    const { state, files } = failing();
    const store = await made.open({ files });
    await put(store, 'before');
    state.writes = 1;
    await assert.rejects(put(store, 'failed'), (error: unknown) => {
      assert.ok(error instanceof StoreWriteError);
      assert.match(error.message, /could not be written to the journal: EIO/);
      return true;
    });
    assert.equal(await has(store, 'failed'), false);
    await put(store, 'after');
    const next = await made.open();
    const found = await Promise.all(['before', 'failed', 'after'].map((name) => has(next, name)));
    assert.deepEqual(found, [true, false, true]);
  });

  it('ends when a failed write cannot be annulled', async () => {
    await using made = await journalDirectory();
    const { state, files } = failing();
    const failures: Failure[] = [];
    const store = await made.open({ files, onFailed: (error) => failures.push(error) });
    await put(store, 'before');
    state.writes = 2;
    const [first, second] = await Promise.allSettled([put(store, 'a'), put(store, 'b')]);
    assert.ok(first.status === 'rejected' && first.reason instanceof CommitUnknownError);
    assert.ok(second.status === 'rejected' && second.reason instanceof CommitUnknownError);
    await assert.rejects(put(store, 'later'), StoreFailedError);
    await assert.rejects(has(store, 'before'), StoreFailedError);
    await assert.rejects(store.restoreSnapshot(), StoreFailedError);
    assert.equal(failures.length, 1);
    assert.equal(store.trouble(), failures[0]);
    await store.close();
    const next = await made.open();
    assert.deepEqual([await has(next, 'before'), await has(next, 'later')], [true, false]);
  });

  it('ends when the disk does not answer, and holds up neither a commit nor the close', async () => {
    await using made = await journalDirectory();
    const state = { hangs: false };
    let answer = (): void => undefined;
    const files = withWrites((write) => async (bytes, position) => {
      if (state.hangs) await new Promise<void>((resolve) => (answer = resolve));
      await write(bytes, position);
    });
    const timers = manualTimers();
    const failures: Failure[] = [];
    const open = () => made.open({ files, timers, onFailed: (error) => failures.push(error) });
    const store = await open();
    await put(store, 'before');
    state.hangs = true;
    const commits = Promise.allSettled([put(store, 'a'), put(store, 'b')]);
    for (let turn = 0; failures.length === 0; turn += 1) {
      assert.ok(turn < 1_000, 'the wait has a limit');
      await pause(0);
      timers.fire(20_000);
    }
    for (const commit of await commits) {
      assert.ok(commit.status === 'rejected' && commit.reason instanceof CommitUnknownError);
    }
    assert.match(String(failures[0]?.message), /journal did not end within 60 s/);
    await assert.rejects(has(store, 'before'), StoreFailedError);
    await store.close();
    state.hangs = false;
    answer();
    const next = await open();
    assert.equal(await has(next, 'before'), true);
  });

  it('says that the data file is slow when commits wait for it at a close', async () => {
    await using made = await journalDirectory();
    const timers = manualTimers();
    const { hold, base } = holding();
    const store = await made.open({ base, timers, limits: { tableRowsMax: 1 } });
    hold.isOn = true;
    for (const name of ['a', 'b']) await put(store, name);
    const waiting = assert.rejects(put(store, 'c'), /the data file did not take enough/);
    const closed = store.close();
    for (let turn = 0; turn < 1_000 && store.trouble() === undefined; turn += 1) {
      await pause(0);
      timers.fire(5_000);
    }
    assert.match(store.trouble()?.message ?? '', /for the commits that wait within 10 s/);
    hold.release();
    await Promise.all([waiting, closed]);
    const next = await made.open();
    assert.deepEqual(await Promise.all(['a', 'b'].map((name) => has(next, name))), [true, true]);
  });

  it('refuses commits while there is no room for another file', async () => {
    await using made = await journalDirectory();
    const { state, files } = full();
    const store = await made.open({ files });
    state.freeBytes = 0;
    await put(store, 'fits');
    await assert.rejects(put(store, 'large', 100_000), (error: unknown) => {
      assert.ok(error instanceof StoreWriteError);
      assert.match(error.message, /the journal got no file: ENOSPC/);
      return true;
    });
    state.freeBytes = Infinity;
    await put(store, 'large', 100_000);
    const next = await made.open();
    assert.deepEqual([await has(next, 'fits'), await has(next, 'large')], [true, true]);
  });

  it('opens on a full disk after a kill, reads, and takes writes when there is space', async () => {
    await using made = await journalDirectory();
    const { state, files } = full();
    await put(await made.open({ files }), 'before');
    state.freeBytes = 20_000;
    const store = await made.open({ files });
    assert.ok(await has(store, 'before'));
    await assert.rejects(put(store, 'large', 10_000), /the journal got no file: ENOSPC/);
    state.freeBytes = Infinity;
    await put(store, 'large', 10_000);
    const next = await made.open({ files });
    assert.deepEqual([await has(next, 'before'), await has(next, 'large')], [true, true]);
    state.freeBytes = 0;
    await assert.rejects(made.open({ files }), /the journal got no file: ENOSPC/);
  });

  it('leaves nothing of an opening that finds the disk or the data file full', async () => {
    await using made = await journalDirectory();
    const disk = full();
    const base = refusing();
    await put(await made.open(), 'before');
    disk.state.freeBytes = 0;
    base.state.refuses = true;
    for (const attempt of [{ files: disk.files }, { base: base.base }]) {
      for (let count = 0; count < 2; count += 1) await assert.rejects(made.open(attempt), /ENOSPC/);
      assert.deepEqual(await readdir(join(made.directory, 'journal')), ['1.old']);
    }
    assert.ok(await has(await made.open(), 'before'));
  });

  for (const limits of [{ tableBytesMax: 20_000 }, { tableRowsMax: 9 }]) {
    const [bound = ''] = Object.keys(limits);
    it(`goes on up to ${bound} while the data file takes nothing, then says why`, async () => {
      await using made = await journalDirectory();
      const { state, base } = refusing();
      const told: (string | undefined)[] = [];
      const store = await made.open({
        base,
        timers: hasty,
        limits,
        onTrouble: (error) => told.push(error?.message),
      });
      state.refuses = true;
      let acknowledged = 0;
      const refused = await (async () => {
        for (; acknowledged < 100; acknowledged += 1) await put(store, `${acknowledged}`, 2_000);
      })().catch((error: unknown) => error);
      assert.ok(refused instanceof StoreWriteError);
      assert.match(refused.message, /Nothing is written: ENOSPC/);
      assert.ok(acknowledged >= 9 && acknowledged < 12, `${acknowledged}`);
      assert.match(store.trouble()?.message ?? '', /ENOSPC/);
      assert.ok(await has(store, '0'));
      state.refuses = false;
      // Found out without a commit.
      while (store.trouble() !== undefined) await pause(1);
      assert.deepEqual(told, ['ENOSPC: no space left on device', undefined]);
      await put(store, 'later');
      await store.close();
      for (let index = 0; index < acknowledged; index += 1) {
        assert.ok(await has(made.memory, `${index}`));
      }
      assert.equal(await has(made.memory, `${acknowledged}`), false);
    });
  }

  it('goes on beside folders that cannot be removed, says so once, and tries again', async () => {
    await using made = await journalDirectory();
    await put(await made.open(), 'before');
    const { state, files } = stuck('removeRetired');
    const told: string[] = [];
    const troubles: unknown[] = [];
    const store = await made.open({
      files,
      onTrouble: (error) => troubles.push(error),
      onUnremoved: ({ message }) => told.push(message),
    });
    const folders = () => readdir(join(made.directory, 'journal'));
    for (const name of ['a', 'b']) {
      await put(store, name);
      await store.takeSnapshot();
      assert.ok(await has(made.memory, name));
    }
    assert.deepEqual(told, ['EACCES: permission denied, rmdir']);
    assert.deepEqual([store.trouble(), troubles], [undefined, []]);
    assert.deepEqual(await folders(), ['1.old', '2']);
    state.isStuck = false;
    await store.takeSnapshot();
    await untilFolders(made.directory, ['2']);
    await store.close();
  });

  it('takes commits at its bound while folders are removed for long', async () => {
    await using made = await journalDirectory();
    await put(await made.open(), 'before');
    const timers = manualTimers();
    const { state, files } = endless();
    const store = await made.open({ files, timers, limits: { changesMax: 4 } });
    const written: number[] = [];
    const writing = (async () => {
      for (let count = 1; count <= 20; count += 1) {
        await put(store, `${count}`);
        written.push(count);
      }
    })();
    for (let turn = 0; written.length < 20; turn += 1) {
      assert.ok(turn < 1_000, `${written.length} commits`);
      await pause(1);
    }
    await writing;
    assert.equal(state.removals, 1);
    const closed = store.close();
    await untilLimited(timers);
    timers.fire(3_000);
    await closed;
  });

  for (const begun of ['before it', 'by it']) {
    it(`ends a stop in time when folders are removed for long, begun ${begun}`, async () => {
      await using made = await journalDirectory();
      await put(await made.open(), 'before');
      const timers = manualTimers();
      const { state, files } = endless();
      const store = await made.open({ files, timers });
      await put(store, 'after');
      if (begun === 'before it') {
        await store.takeSnapshot();
        while (state.removals === 0) await pause(0);
      }
      let isClosed = false;
      const closed = store.close().then(() => (isClosed = true));
      while (state.removals === 0) await pause(0);
      await untilLimited(timers);
      for (let turn = 0; turn < 20; turn += 1) await pause(0);
      assert.equal(isClosed, false);
      timers.fire(3_000);
      await closed;
      assert.equal(timers.waiting, 0);
      assert.deepEqual(await Promise.all(['before', 'after'].map((n) => has(made.memory, n))), [
        true,
        true,
      ]);
      const folders = () => readdir(join(made.directory, 'journal'));
      assert.deepEqual(await folders(), ['1.old', '2']);
      const next = await made.open();
      await next.takeSnapshot();
      await untilFolders(made.directory, ['3']);
      await next.close();
      await assert.rejects(folders(), { code: 'ENOENT' });
    });
  }

  it('ends a stop in order when the journal cannot be removed, and says so', async () => {
    await using made = await journalDirectory();
    const { files } = stuck('removeAll');
    const told: string[] = [];
    const store = await made.open({ files, onUnremoved: ({ message }) => told.push(message) });
    await put(store, 'a');
    await store.close();
    assert.deepEqual(told, ['EACCES: permission denied, rmdir']);
    assert.ok(await has(made.memory, 'a'));
    const next = await made.open();
    await next.close();
    await assert.rejects(readdir(join(made.directory, 'journal')), { code: 'ENOENT' });
  });

  it('takes the journal away after a last pass that took longer than a removal may', async () => {
    await using made = await journalDirectory();
    const timers = manualTimers();
    const { hold, base } = holding();
    const store = await made.open({ base, timers });
    await put(store, 'a');
    hold.isOn = true;
    const { release: before } = hold;
    const closed = store.close();
    while (hold.release === before) await pause(0);
    timers.fire(3_000);
    hold.release();
    await closed;
    assert.equal(timers.waiting, 0);
    assert.ok(await has(made.memory, 'a'));
    await assert.rejects(readdir(join(made.directory, 'journal')), { code: 'ENOENT' });
  });

  it('ends a stop in time when the data file takes nothing and folders are removed', async () => {
    await using made = await journalDirectory();
    await put(await made.open(), 'before');
    const timers = manualTimers();
    const { state, base } = refusing();
    const { state: removing, files } = endless();
    const store = await made.open({ base, files, timers });
    await store.takeSnapshot();
    while (removing.removals === 0) await pause(0);
    await put(store, 'after');
    state.refuses = true;
    const closed = store.close();
    await untilLimited(timers);
    timers.fire(3_000);
    await closed;
    assert.ok(await has(await made.open(), 'after'));
  });

  it('ends a stop in time when the disk does not give the next file, and says so', async () => {
    await using made = await journalDirectory();
    const timers = manualTimers();
    const told: string[] = [];
    const { state, files } = withoutNext();
    const onUnclosed = ({ message }: Error) => told.push(message);
    const store = await made.open({ files, timers, onUnclosed });
    state.hangs = true;
    for (let row = 0; state.asked < 2; row += 1) await put(store, `row ${row}`, 10_000);
    const stop = { isOver: false };
    const closed = store.close().then(() => (stop.isOver = true));
    await untilLimited(timers);
    for (let turn = 0; turn < 20; turn += 1) await pause(0);
    assert.equal(stop.isOver, false);
    for (let turn = 0; !stop.isOver; turn += 1) {
      assert.ok(turn < 1_000, 'the wait has a limit');
      timers.fire(3_000);
      await pause(0);
    }
    await closed;
    assert.match(told.join(), /^The files of the journal .* were not all closed within the 10 s/);
    assert.ok(await has(made.memory, 'row 0'));
    state.answer();
    state.hangs = false;
    const next = await made.open({ files });
    assert.ok(await has(next, 'row 0'));
    await next.close();
    await assert.rejects(readdir(join(made.directory, 'journal')), { code: 'ENOENT' });
  });

  it('keeps the journal when the data file takes nothing at the end', async () => {
    await using made = await journalDirectory();
    const { state, base } = refusing();
    const store = await made.open({ base });
    await put(store, 'a');
    state.refuses = true;
    await store.close();
    assert.equal(await has(made.memory, 'a'), false);
    assert.ok(await has(await made.open(), 'a'));
  });

  it('refuses commits when its file was cut, and a stop then loses nothing', async () => {
    await using made = await journalDirectory();
    const store = await made.open();
    await put(store, 'before');
    await truncate(join(made.directory, 'journal', '1', '000001'), 8_192);
    await assert.rejects(put(store, 'meanwhile'), / was cut .*stop the server/);
    assert.match(store.trouble()?.message ?? '', /was cut/);
    await store.close();
    const next = await made.open();
    const found = await Promise.all(['before', 'meanwhile'].map((n) => has(next, n)));
    assert.deepEqual(found, [true, false]);
  });

  it('refuses commits when its file was removed, and a stop then loses nothing', async () => {
    await using made = await journalDirectory();
    const store = await made.open();
    await put(store, 'before');
    await rm(join(made.directory, 'journal', '1', '000001'));
    const advice = /was moved, replaced or removed .*If you cannot, stop the server in order/;
    await assert.rejects(put(store, 'meanwhile'), advice);
    await store.close();
    const next = await made.open();
    const found = await Promise.all(['before', 'meanwhile'].map((n) => has(next, n)));
    assert.deepEqual(found, [true, false]);
  });

  for (const fails of [false, true]) {
    const outcome = fails ? 'failed' : 'succeeded';
    it(`does not know a write that ${outcome} when its file cannot be looked at then`, async () => {
      await using made = await journalDirectory();
      const folder = join(made.directory, 'journal', '1');
      const state = { breaks: false };
      const files = withWrites((write) => async (bytes, position) => {
        await write(bytes, position);
        if (!state.breaks) return;
        state.breaks = false;
        await rename(folder, `${folder}.away`);
        // A look at a file behind it fails, and does not say that there is none.
        await symlink('1', folder);
        if (fails) throw new Error('EIO: i/o error, write');
      });
      const store = await made.open({ files });
      await put(store, 'before');
      state.breaks = true;
      await assert.rejects(put(store, 'unknown'), (error: unknown) => {
        assert.ok(error instanceof CommitUnknownError);
        assert.match(error.message, /cannot be looked at \(ELOOP\)/);
        return true;
      });
      await assert.rejects(put(store, 'refused'), (error: unknown) => {
        assert.ok(error instanceof StoreWriteError && !(error instanceof CommitUnknownError));
        return true;
      });
      assert.match(store.trouble()?.message ?? '', /ELOOP/);
      await rm(folder);
      await rename(`${folder}.away`, folder);
      assert.equal(store.trouble(), undefined);
      await put(store, 'after');
      assert.ok(await has(await made.open(), 'after'));
    });
  }

  it('does not know a write that failed when only the first look at its file fails', async () => {
    await using made = await journalDirectory();
    const state = { breaks: false, isAway: false };
    const broken = withWrites((write) => async (bytes, position) => {
      await write(bytes, position);
      if (!state.breaks) return;
      state.breaks = false;
      state.isAway = true;
      throw new Error('EIO: i/o error, write');
    });
    const store = await made.open({ files: (disk) => seenOnce(broken(disk), state) });
    await put(store, 'before');
    state.breaks = true;
    await assert.rejects(put(store, 'unknown'), (error: unknown) => {
      assert.ok(error instanceof CommitUnknownError);
      assert.match(error.message, /cannot be looked at \(EIO\)/);
      return true;
    });
    assert.ok(await has(await made.open(), 'unknown'));
  });

  it('refuses commits while its folder is elsewhere', async () => {
    await using made = await journalDirectory();
    const store = await made.open();
    await put(store, 'before');
    const [folder, elsewhere] = ['journal', 'elsewhere'].map((name) => join(made.directory, name));
    await rename(folder ?? '', elsewhere ?? '');
    await assert.rejects(put(store, 'meanwhile'), /moved, replaced or removed while it was in use/);
    assert.match(store.trouble()?.message ?? '', /journal file .* was moved/);
    assert.ok(await has(store, 'before'));
    await rename(elsewhere ?? '', folder ?? '');
    await put(store, 'after');
    const next = await made.open();
    const found = await Promise.all(['before', 'meanwhile', 'after'].map((n) => has(next, n)));
    assert.deepEqual(found, [true, false, true]);
  });
});
