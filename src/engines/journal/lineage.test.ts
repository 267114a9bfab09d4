import assert from 'node:assert/strict';
import { cp, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import {
  damaged,
  journalDirectory,
  putRow,
  rowOf,
  type JournalDirectory,
} from '../../../test/support/journals.js';
import { costly } from '../../../test/support/run-length.js';
import { noteKey } from './base-note.js';
import type { JournalBase } from './store.js';

const notOwn = damaged(/^The journal file \S+ does not belong to the data file/);
const olderData = damaged(
  /^The data file does not know of the journal file \S+, which has what was/,
);
const olderJournal = damaged(/^The journal file \S+ lacks frame \d+, which the data file has/);

function journalOf({ directory }: JournalDirectory): string {
  return join(directory, 'journal');
}

/** Replaces a journal, or a folder of it, by that of another directory. */
async function takeOver(from: JournalDirectory, to: JournalDirectory, folder = ''): Promise<void> {
  await rm(join(journalOf(to), folder), { recursive: true, force: true });
  await cp(join(journalOf(from), folder), join(journalOf(to), folder), { recursive: true });
}

/** Each opening writes a row and is ended, in order or by a kill. */
async function live(made: JournalDirectory, ends: readonly ('closed' | 'killed')[]) {
  for (const [at, end] of ends.entries()) {
    const store = await made.open();
    await putRow(store, `row ${at}`, made.directory);
    if (end === 'closed') await store.close();
  }
}

/** A process that ends when it has made its folder, before the note names it. */
async function endBeforeNote(made: JournalDirectory): Promise<void> {
  const base = (memory: JournalBase): JournalBase =>
    new Proxy(memory, {
      get(target, name) {
        const found: unknown = Reflect.get(target, name, target);
        if (name === 'ingest') return () => Promise.reject(new Error('killed'));
        return typeof found === 'function' ? found.bind(target) : found;
      },
    });
  await assert.rejects(made.open({ base }), /killed/);
}

async function rowsOf(made: JournalDirectory, names: readonly string[]) {
  const store = await made.open();
  return Promise.all(names.map((name) => rowOf(store, name)));
}

describe('the journal of a directory', () => {
  it('is refused when it is of another directory, also if its numbers continue those of the data file', async () => {
    await using made = await journalDirectory();
    await using other = await journalDirectory();
    await live(made, ['closed']);
    await live(other, ['closed', 'killed']);
    await takeOver(other, made);
    await assert.rejects(made.open(), notOwn);
    await rm(journalOf(made), { recursive: true });
    assert.deepEqual(await rowsOf(made, ['row 0', 'row 1']), [made.directory, undefined]);
    assert.deepEqual(await rowsOf(other, ['row 0', 'row 1']), [other.directory, other.directory]);
  });

  it(
    'is refused when it is of another directory, wherever the openings of both ended',
    costly(),
    async () => {
      const lives = [
        ['closed', 'closed'],
        ['closed', 'killed'],
        ['killed', 'killed'],
        ['killed', 'closed', 'killed'],
      ] as const;
      for (const own of lives) {
        for (const foreign of lives) {
          if (foreign.at(-1) === 'closed') continue;
          await using made = await journalDirectory();
          await using other = await journalDirectory();
          await live(made, own);
          await live(other, foreign);
          await takeOver(other, made);
          await assert.rejects(made.open(), damaged(/does not belong to|lacks file 1 of/));
        }
      }
    },
  );

  it('is refused with an opening of another directory among its own', async () => {
    await using made = await journalDirectory();
    await using other = await journalDirectory();
    for (const each of [made, other]) await live(each, ['killed', 'killed', 'killed']);
    await cp(journalOf(made), join(made.directory, 'aside'), { recursive: true });
    for (const folder of ['1.old', '2.old']) {
      await takeOver(other, made, folder);
      await assert.rejects(made.open(), notOwn, folder);
      await rm(journalOf(made), { recursive: true });
      await cp(join(made.directory, 'aside'), journalOf(made), { recursive: true });
    }
    const rows = await rowsOf(made, ['row 0', 'row 1', 'row 2']);
    assert.deepEqual(rows, Array(3).fill(made.directory));
  });

  it('is refused with an empty opening of another directory, which would hide frames of its own', async () => {
    await using made = await journalDirectory();
    await using other = await journalDirectory();
    await live(made, ['killed']);
    await endBeforeNote(other);
    await endBeforeNote(other);
    await cp(join(journalOf(other), '2'), join(journalOf(made), '2'), { recursive: true });
    await assert.rejects(made.open(), notOwn);
    await rm(join(journalOf(made), '2.old'), { recursive: true });
    assert.deepEqual(await rowsOf(made, ['row 0']), [made.directory]);
  });

  it('is recognised however often an opening ended before its note was stored', async () => {
    await using made = await journalDirectory();
    for (const end of ['killed', 'closed'] as const) {
      await endBeforeNote(made);
      await endBeforeNote(made);
      await live(made, [end]);
    }
    await endBeforeNote(made);
    await live(made, ['killed', 'killed']);
    await endBeforeNote(made);
    assert.deepEqual(await rowsOf(made, ['row 0', 'row 1']), Array(2).fill(made.directory));
  });

  it('is recognised when files that were given up could not be removed', async () => {
    await using made = await journalDirectory();
    await live(made, ['killed', 'killed']);
    const store = await made.open();
    await cp(journalOf(made), join(made.directory, 'last'), { recursive: true });
    await store.close();
    await rename(join(made.directory, 'last'), journalOf(made));
    assert.deepEqual(await rowsOf(made, ['row 0']), [made.directory]);
  });

  it('belongs to a copy of the whole directory, and not to the data file of another copy', async () => {
    await using made = await journalDirectory();
    await live(made, ['closed']);
    const note = await made.memory.get(noteKey);
    assert.ok(note !== undefined);
    await using copy = await journalDirectory();
    await copy.memory.ingest({ entries: [note], deletes: [], floor: 0 });
    await live(copy, ['killed']);
    await takeOver(copy, made);
    await assert.rejects(made.open(), olderData);
    await rm(journalOf(made), { recursive: true });
    await live(made, ['killed']);
    await takeOver(copy, made);
    await assert.rejects(made.open(), notOwn);
    assert.deepEqual(await rowsOf(copy, ['row 0']), [copy.directory]);
  });

  it('is not thrown away where the data file is lost', async () => {
    await using made = await journalDirectory();
    await using empty = await journalDirectory();
    await live(made, ['killed']);
    await takeOver(made, empty);
    await assert.rejects(empty.open(), olderData);
    assert.deepEqual(await readdir(journalOf(empty)), ['1.old']);
  });

  it('is refused when it is an older copy', async () => {
    await using made = await journalDirectory();
    const store = await made.open();
    await putRow(store, 'a');
    const before = join(made.directory, 'before');
    await cp(journalOf(made), before, { recursive: true });
    await putRow(store, 'b');
    // The note says how far the journal was.
    await store.takeSnapshot();
    await putRow(store, 'c');
    await rename(journalOf(made), join(made.directory, 'own'));
    await rename(before, journalOf(made));
    await assert.rejects(made.open(), olderJournal);
    await rm(journalOf(made), { recursive: true });
    await rename(join(made.directory, 'own'), journalOf(made));
    assert.deepEqual(await rowsOf(made, ['a', 'b', 'c']), ['a', 'b', 'c']);
  });

  it('is not used with a data file from before a snapshot was restored', async () => {
    await using made = await journalDirectory();
    const store = await made.open();
    const snapshot = await store.takeSnapshot();
    await putRow(store, 'lost');
    const before = await made.memory.get(noteKey);
    assert.ok(before !== undefined);
    await store.restoreSnapshot(snapshot);
    await putRow(store, 'kept');
    await made.memory.ingest({ entries: [before], deletes: [], floor: 0 });
    await assert.rejects(made.open(), damaged(/^The data file is older than the journal/));
  });
});
