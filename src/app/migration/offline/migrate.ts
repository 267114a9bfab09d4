import { messageOf } from '../../../base/thrown.js';
import { concurrently } from '../../../base/async/concurrently.js';
import { ExtentMissingError } from '../../../content/errors.js';
import { ExtentCopies } from '../../../content/files/extent-copies.js';
import { StoredExtents } from '../../../content/files/stored-extents.js';
import type { Entry, Store } from '../../../kv/store.js';
import {
  extentsOfBlobs,
  rangeOfBlobs,
  type BlobExtent,
} from '../../../services/blobs/stored-blobs.js';
import { copyStateKey } from '../../moves/copy-state.js';
import { beginCopy } from '../copy-begin.js';
import {
  bytesOf,
  copyEntries,
  hasEntries,
  pagesOf,
  summaryOf,
  type OnBytes,
  type Summary,
} from '../entries.js';
import { MigrationError } from '../migration-error.js';
import { assertMayMove, noteMoved } from './interrupted-move.js';
import { comparedCopies } from '../../moves/differences.js';
import { openSource, openTarget } from '../../open-location.js';
import {
  assertApart,
  contentDirectoryOf,
  shownLocation,
  type DataLocation,
  type MigrationStore,
} from '../data-location.js';

/** The phases of a migration, in order. */
export type MigrationPhase =
  | 'reading the source'
  | 'copying entries'
  | 'copying content'
  | 'verifying entries'
  | 'verifying content';

export interface MigrationListener {
  /** A phase begins that processes `bytes` bytes; undefined when the number is not known. */
  begin(phase: MigrationPhase, bytes: number | undefined): void;
  /** `bytes` more bytes of the phase were processed. */
  progress(bytes: number): void;
}

/** The copied data, which were found equal in source and target. */
export interface Migration {
  readonly summary: Summary;
  /** The files of content that blobs name, and what they name of them. */
  readonly content: ContentSize;
  /** The entries that an earlier attempt had copied. */
  readonly entriesBefore: number;
}

interface ContentSize {
  readonly files: number;
  readonly bytes: number;
}

/** Files that are copied or read at the same time. */
const filesAtOnce = 4;

/**
 * Copies all data, versions included, from a location that no server uses into an empty one, and
 * compares both. An interrupted copy continues when it is called again. The source keeps its data.
 * Throws `MigrationError`, and the errors of opening a location.
 */
export async function migrate(
  from: DataLocation,
  to: DataLocation,
  listener: MigrationListener,
): Promise<Migration> {
  assertApart(from, to);
  const source = await openSource(from);
  try {
    if (!(await hasEntries(source))) {
      throw new MigrationError(`There are no data in ${shownLocation(from)}.`);
    }
    const target = await openTarget(to);
    try {
      const note = await assertMayMove({ source, target, from, to });
      const done = await new Run({ from, to, source, target, listener }).all();
      if (note !== undefined) await noteMoved(source, to);
      return done;
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
}

interface RunParts {
  readonly from: DataLocation;
  readonly to: DataLocation;
  readonly source: MigrationStore;
  readonly target: MigrationStore;
  readonly listener: MigrationListener;
}

class Run {
  readonly #parts: RunParts;

  constructor(parts: RunParts) {
    this.#parts = parts;
  }

  async all(): Promise<Migration> {
    const { source, target, listener } = this.#parts;
    const onBytes = (bytes: number) => listener.progress(bytes);
    const lastVersion = await source.lastVersion();
    const { from, to } = this.#parts;
    const state = await beginCopy(target, { from, to, lastVersion, isOnline: false });

    listener.begin('reading the source', undefined);
    const summary = await summaryOf(source, onBytes);
    const content = await this.#contentSize();

    listener.begin('copying entries', summary.bytes);
    listener.progress(state.bytes);
    if (state.isOnline === true) await equalise(source, target, onBytes);
    else await copyEntries(source, target, { state, onBytes });
    listener.begin('copying content', content.bytes);
    await this.#copyContent();

    listener.begin('verifying entries', summary.bytes);
    this.#assertSame(summary, await summaryOf(target, onBytes));
    listener.begin('verifying content', content.bytes);
    await this.#verifyContent();
    await this.#assertUnwritten(lastVersion);

    // Without this row servers accept the target.
    await target.ingest({ entries: [], deletes: [copyStateKey], floor: lastVersion });
    return { summary, content, entriesBefore: state.entries };
  }

  async #contentSize(): Promise<ContentSize> {
    const size = { files: 0, bytes: 0 };
    for await (const { bytes } of extentsIn(this.#parts.source)) {
      size.files += 1;
      size.bytes += bytes;
    }
    return size;
  }

  async #copyContent(): Promise<void> {
    const { from, to, source, listener } = this.#parts;
    const directory = contentDirectoryOf(from);
    const copies = await ExtentCopies.open(directory, contentDirectoryOf(to));
    await concurrently(extentsIn(source), filesAtOnce, async (extent) => {
      await copies.copy(extent.id).catch((error: unknown) => {
        if (!(error instanceof ExtentMissingError)) throw notCopied(extent, error);
        const isShared = from.postgresUrl !== undefined;
        throw new MigrationError(
          `${contentName(extent)} is not in ${directory}. ` +
            (isShared
              ? 'Give the --location of the servers of the source.'
              : `Look at the source: tabularium check --location ${directory}`),
          { cause: error },
        );
      });
      listener.progress(extent.bytes);
    });
    await copies.end();
  }

  async #verifyContent(): Promise<void> {
    const { from, to, target, listener } = this.#parts;
    const stored = new StoredExtents(contentDirectoryOf(to));
    await concurrently(extentsIn(target), filesAtOnce, async (extent) => {
      const fault = await stored.verify(extent.id, extent.bytes, () => undefined);
      if (fault !== undefined) {
        throw new MigrationError(
          `${contentName(extent)} is ${fault.problem} in ${stored.fileOf(extent.id)}. Look at the ` +
            `source: tabularium check --location ${contentDirectoryOf(from)}`,
        );
      }
      listener.progress(extent.bytes);
    });
  }

  #assertSame(source: Summary, target: Summary): void {
    if (source.hash === target.hash) return;
    const { from, to } = this.#parts;
    throw new MigrationError(
      `${shownLocation(to)} is not what ${shownLocation(from)} is: it has ${target.entries} entries for ` +
        `${source.entries}, with other keys, versions or values. Somebody wrote to one of them. ` +
        'Stop all servers, and begin again with an empty target.',
    );
  }

  /**
   * Unlike a data directory, a database is not locked, so another server may have written to it.
   */
  async #assertUnwritten(lastVersion: number): Promise<void> {
    const { from, source } = this.#parts;
    if ((await source.lastVersion()) === lastVersion) return;
    throw new MigrationError(
      `${shownLocation(from)} was written to while it was copied. Stop its servers, and begin again ` +
        'with an empty target.',
    );
  }
}

/** Makes the target equal to the source. */
async function equalise(source: Store, target: MigrationStore, onBytes: OnBytes): Promise<void> {
  for await (const { entries, puts, deletes } of comparedCopies(source, target)) {
    if (puts.length + deletes.length > 0) {
      await target.ingest({ entries: puts, deletes, floor: 0 });
    }
    onBytes(bytesOf(entries));
  }
}

function notCopied(extent: BlobExtent, cause: unknown): MigrationError {
  return new MigrationError(
    `${contentName(extent)} cannot be copied: ${messageOf(cause)}. Mend that, and migrate again: what ` +
      'is there already is not copied once more.',
    { cause },
  );
}

function contentName({ account, container, blob }: BlobExtent): string {
  return `The content of the blob ${container}/${blob} of ${account}`;
}

/** The extents that blobs name, each once. */
function extentsIn(store: Store): AsyncGenerator<BlobExtent, void, void> {
  return extentsOfBlobs(entriesOfBlobs(store));
}

async function* entriesOfBlobs(store: Store): AsyncGenerator<Entry, void, void> {
  for await (const page of pagesOf(store, rangeOfBlobs)) yield* page;
}
