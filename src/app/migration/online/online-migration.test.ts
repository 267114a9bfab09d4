import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { journalDirectory } from '../../../../test/support/journals.js';
import { holdingTimers } from '../../../base/async/timers.js';
import { systemClock } from '../../../base/clock.js';
import { openMemoryContent } from '../../../content/memory/content.js';
import type { JournalBase } from '../../../engines/journal/store.js';
import { openMemoryStore, type MemoryStore } from '../../../engines/memory/store.js';
import { CommitUnknownError, StoreUnavailableError } from '../../../kv/errors.js';
import type { Ingestion } from '../../../kv/ingestion.js';
import type { MemberStore } from '../../../kv/member-store.js';
import { partitionPrefix } from '../../../kv/partition-prefix.js';
import type { Entry, Store } from '../../../kv/store.js';
import { copyStateKey, copyStateOf, isCopied, renewCopy } from '../../moves/copy-state.js';
import { moveNoteOf } from '../../moves/move-note.js';
import type { MigrationStore } from '../data-location.js';
import { OnlineMigration, type OnlineListener, type OnlinePhase } from './online-migration.js';
import { WatchedStore, type WatchableStore } from '../../moves/watched-store.js';
import { costly } from '../../../../test/support/run-length.js';

const prefix = partitionPrefix('tables', 'account', 1, 'partition');
const keyOf = (name: string) => Buffer.concat([prefix, Buffer.from(name)]);
const readAll = { limit: 1e6, bytesMax: 1e9 } as const;

interface World {
  readonly source: WatchedStore;
  readonly target: MemoryStore;
  run(options?: {
    readonly target?: MigrationStore;
    readonly signal?: AbortSignal;
    readonly onPhase?: (phase: OnlinePhase) => void;
  }): Promise<unknown>;
}

async function worldOf(
  t: TestContext,
  as: (store: MemoryStore) => WatchableStore | Promise<WatchableStore> = (store) => store,
): Promise<World> {
  const folder = await mkdtemp(join(tmpdir(), 'tabularium-online-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const clock = systemClock;
  const source = new WatchedStore(await as(await openMemoryStore({ clock })), holdingTimers);
  const target = await openMemoryStore({ clock });
  const content = openMemoryContent();
  return {
    source,
    target,
    run: ({ onPhase, signal = new AbortController().signal, ...given } = {}) => {
      const listener: OnlineListener = {
        begin: (phase) => onPhase?.(phase),
        progress: () => undefined,
        trouble: () => undefined,
      };
      const locations = {
        from: { location: join(folder, 'a') },
        to: { location: join(folder, 'b') },
      };
      const parts = { source, content, target, ...given, ...locations, listener, signal };
      return new OnlineMigration({ ...parts, clock, timers: holdingTimers }).run();
    },
  };
}

async function fill({ source }: World, count: number): Promise<void> {
  for (let at = 0; at < count; at += 1) await put(source, String(at).padStart(5, '0'), 'before');
}

function put(store: Pick<WatchedStore, 'commit'>, name: string, text: string) {
  const puts = [{ key: keyOf(name), value: Buffer.from(text) }];
  return store.commit({ checks: [], puts, deletes: [] });
}

async function contentOf(store: Pick<Store, 'range'>): Promise<readonly Entry[]> {
  return (await store.range({ start: Buffer.alloc(0) }, readAll)).entries.filter(isCopied);
}

/** The store, with another method in the place of one. */
function replaced<Of extends MemberStore, Name extends 'commit' | 'ingest'>(
  store: Of,
  method: Name,
  by: Of[Name],
): Of {
  return new Proxy(store, {
    get(of, name) {
      if (name === method) return by;
      const member: unknown = Reflect.get(of, name);
      return typeof member === 'function' ? (member.bind(of) as unknown) : member;
    },
  });
}

/** The store, whose ingestions pass through `by`. */
function ingesting(
  store: MemoryStore,
  by: (ingestion: Ingestion, apply: () => Promise<void>) => Promise<void>,
): MigrationStore {
  return replaced(store, 'ingest', (each) => by(each, () => store.ingest(each)));
}

/** The store, whose commits take a while, in which others go on. */
function slow(store: MemoryStore): MemoryStore {
  return replaced(store, 'commit', async (batch) => {
    await turn();
    return store.commit(batch);
  });
}

/** Whether it is the one that makes the copy data to serve. */
function isSwitch({ deletes }: Ingestion): boolean {
  return deletes.some((key) => Buffer.compare(key, copyStateKey) === 0);
}

/** Commits wait for the data file after every few. Timers stand still: only bounds begin passes. */
const tinyJournal = {
  tableBytesMax: 4_000,
  tableRowsMax: 16,
  changesMax: 24,
  filesMax: 2,
  fileBytes: 32_768,
};

/** Moves the data while clients write, and checks that no acknowledged write is missing. */
async function moveUnderWrites(world: World): Promise<void> {
  const { source } = world;
  await fill(world, 1_500);
  const acknowledged = new Map<string, string | undefined>();
  const write = async (writer: number): Promise<void> => {
    for (let count = 0; ; count += 1) {
      // Keys of its own, before, between and behind the existing ones.
      const name = `${String((count * 37) % 2_000).padStart(5, '0')}-${writer}`;
      const text = count % 3 === 0 ? undefined : `${writer}, ${count}`;
      if (text === undefined) {
        await source.commit({ checks: [], puts: [], deletes: [keyOf(name)] });
      } else await put(source, name, text);
      acknowledged.set(name, text);
      await turn();
    }
  };
  const writers = [1, 2, 3].map((writer) =>
    write(writer).catch((error: unknown) => (error instanceof Error ? error.name : error)),
  );
  // Each page takes a while, in which writers go on.
  const target = ingesting(world.target, async (_, apply) => {
    for (let turns = 0; turns < 20; turns += 1) await turn();
    await apply();
  });
  await world.run({ target });
  assert.deepEqual(await Promise.all(writers), ['MovedError', 'MovedError', 'MovedError']);
  await assert.rejects(source.get(keyOf('00001')), { name: 'MovedError' });

  const found = await contentOf(target);
  assert.deepEqual(found, await contentOf(source.inner));
  const texts = new Map(found.map(({ key, value }) => [String(key), String(value)]));
  for (const [name, text] of acknowledged) assert.equal(texts.get(String(keyOf(name))), text, name);
  assert.ok(acknowledged.size > 20, `${acknowledged.size} keys`);
  assert.equal(await copyStateOf(target), undefined);
  assert.equal((await moveNoteOf(source.inner))?.isOver, true);
  const { version } = (await put(target, 'next', 'next')) as { version: number };
  assert.ok(version > (await source.inner.lastVersion()));
}

void describe('a migration of data that are served', () => {
  void it('takes every write that was acknowledged, and lets nobody read here afterwards', async (t) => {
    await moveUnderWrites(await worldOf(t, slow));
  });

  void it(
    'takes every write from a source whose journal is at its bounds all the time',
    costly(),
    async (t) => {
      await using made = await journalDirectory();
      let passes = 0;
      const counted = (base: JournalBase) =>
        replaced(base, 'ingest', (ingestion) => {
          passes += 1;
          return base.ingest(ingestion);
        });
      const world = await worldOf(t, () => made.open({ limits: tinyJournal, base: counted }));
      await moveUnderWrites(world);
      assert.ok(passes > 100, `${passes} transactions of the data file`);
    },
  );

  void it('leaves the source as it was when the target refuses, and goes on later', async (t) => {
    const world = await worldOf(t);
    const { source, target } = world;
    await fill(world, 600);
    let ingested = 0;
    const away = ingesting(target, async (ingestion, apply) => {
      ingested += ingestion.entries.length;
      if (isSwitch(ingestion)) throw new StoreUnavailableError('away');
      await apply();
    });
    await assert.rejects(world.run({ target: away }), /^StoreUnavailableError: away$/);
    assert.ok(ingested >= 600);
    assert.equal(await moveNoteOf(source.inner), undefined);
    assert.equal((await copyStateOf(target))?.isOnline, true);
    await put(source, '00001', 'after');
    await source.commit({ checks: [], puts: [], deletes: [keyOf('00002')] });
    assert.equal(String((await source.get(keyOf('00001')))?.value), 'after');

    let again = 0;
    const counting = ingesting(target, async (ingestion, apply) => {
      again += ingestion.entries.length;
      await apply();
    });
    await world.run({ target: counting });
    assert.ok(again < 10, `${again} entries were copied again`);
    assert.deepEqual(await contentOf(target), await contentOf(source.inner));
  });

  void it('is shut while nobody knows who has the data', async (t) => {
    const world = await worldOf(t);
    const { source, target } = world;
    await fill(world, 10);
    let read: Promise<unknown> | undefined;
    let asked = 0;
    const unsure = ingesting(target, async (ingestion, apply) => {
      if (isSwitch(ingestion)) asked += 1;
      await apply();
      if (!isSwitch(ingestion)) return;
      read = source.get(keyOf('00001')).catch((error: unknown) => error);
      throw new CommitUnknownError('The connection was lost.');
    });
    await world.run({ target: unsure });
    assert.equal(asked, 2);
    assert.equal(((await read) as Error).name, 'MovedError');
  });

  void it('stays shut when it ends before that is known, and no start serves it', async (t) => {
    const world = await worldOf(t);
    const { source, target } = world;
    await fill(world, 10);
    const stop = new AbortController();
    const unsure = ingesting(target, async (ingestion, apply) => {
      if (!isSwitch(ingestion)) return apply();
      stop.abort();
      throw new CommitUnknownError('The connection was lost.');
    });
    const run = world.run({ target: unsure, signal: stop.signal });
    await assert.rejects(run, /Nobody knows whether .*b has taken over .*The connection was lost/);
    assert.equal(source.isShut, true);
    assert.equal((await moveNoteOf(source.inner))?.isOver, false);
  });

  void it('takes nothing over by a write that arrives when the data were taken back', async (t) => {
    const world = await worldOf(t);
    const { target } = world;
    await fill(world, 10);
    const stop = new AbortController();
    let late: (() => Promise<void>) | undefined;
    const unsure = ingesting(target, async (ingestion, apply) => {
      if (!isSwitch(ingestion)) return apply();
      late = apply;
      stop.abort();
      throw new CommitUnknownError('The connection was lost.');
    });
    await assert.rejects(world.run({ target: unsure, signal: stop.signal }), /Nobody knows/);
    assert.equal(await renewCopy(target), true);
    await assert.rejects(async () => late?.(), { name: 'GuardError' });
    assert.equal((await copyStateOf(target))?.isOnline, true);
  });

  void it('can be called off until it switches', async (t) => {
    const world = await worldOf(t);
    const { source, target } = world;
    await fill(world, 10);
    for (const phase of ['copying', 'comparing', 'switching'] as const) {
      const stop = new AbortController();
      const onPhase = (begun: OnlinePhase): void => {
        if (begun === phase) stop.abort();
      };
      const run = world.run({ signal: stop.signal, onPhase });
      await assert.rejects(run, { name: 'MigrationCancelledError' }, phase);
      await put(source, '00001', phase);
    }
    assert.equal((await copyStateOf(target))?.isOnline, true);
    assert.equal(await moveNoteOf(source.inner), undefined);
  });

  void it('does not switch to a target that somebody else writes to', async (t) => {
    const world = await worldOf(t);
    const { source, target } = world;
    await fill(world, 10);
    const foreign = { key: keyOf('00003'), value: Buffer.from('foreign'), version: 7 };
    let writing: Promise<void> | undefined;
    const run = world.run({
      onPhase: (phase) => {
        if (phase !== 'comparing') return;
        writing = target.ingest({ entries: [foreign], deletes: [], floor: 0 });
      },
    });
    await assert.rejects(
      run,
      /b is not what .*a is: 1 keys differ that must not\. Nothing has moved/,
    );
    await writing;
    assert.equal(source.isShut, false);
    await put(source, '00001', 'after');
  });

  void it('lets writes wait for its end, and reads of the source go on until then', async (t) => {
    const world = await worldOf(t);
    const { source } = world;
    await fill(world, 10);
    await source.fence();
    const order: string[] = [];
    const written = put(source, 'new', 'new').then(() => order.push('written'));
    assert.ok(await source.get(keyOf('00001')));
    order.push('read');
    source.open();
    await written;
    assert.deepEqual(order, ['read', 'written']);
    source.note();
    await assert.rejects(
      source.restoreSnapshot(),
      /The data are moving to another location, so they cannot be set back/,
    );
  });
});
