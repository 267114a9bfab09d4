import { StoreDamagedError } from '../../kv/errors.js';
import type { GenerationId } from './file-head.js';
import { counted, type FoundFile } from './found-file.js';
import type { Applied } from './base-note.js';

/** The files of a journal, by what they are to the base. */
export interface FilesByOrigin {
  /** Those of the generation that the note names, of its predecessor, and so on. */
  readonly noted: readonly FoundFile[];
  /** Those of openings that ended before a note could name them. They have no frames. */
  readonly begun: readonly FoundFile[];
  /** Those of other data, or of a later state of these. */
  readonly foreign: readonly FoundFile[];
}

/** The secret of each generation that a note has named, by its number. */
type Lineage = ReadonlyMap<number, number>;

/**
 * The note names the last generation, and each head the one before. Folders are removed in the
 * order of their generations, so none of these names is missing.
 */
export function filesByOrigin(found: readonly FoundFile[], applied: Applied): FilesByOrigin {
  const lineage = lineageOf(found, applied);
  const noted: FoundFile[] = [];
  const begun: FoundFile[] = [];
  const foreign: FoundFile[] = [];
  for (const file of found) {
    const { generation } = file.head;
    if (isOf(lineage, { generation, secret: file.secret })) noted.push(file);
    else if (isBegun(file, lineage)) begun.push(file);
    else foreign.push(file);
  }
  return { noted, begun, foreign };
}

function lineageOf(found: readonly FoundFile[], { generation, secret }: GenerationId): Lineage {
  const lineage = new Map([[generation, secret]]);
  const lastFirst = found.toSorted((left, right) => right.head.generation - left.head.generation);
  for (const { head, secret: own } of lastFirst) {
    const { predecessor } = head;
    if (!isOf(lineage, { generation: head.generation, secret: own })) continue;
    lineage.set(predecessor.generation, predecessor.secret);
  }
  return lineage;
}

function isOf(lineage: Lineage, { generation, secret }: GenerationId): boolean {
  return lineage.get(generation) === secret;
}

/** No frame is written before a note names the generation, and until then its predecessor. */
function isBegun({ head, frames }: FoundFile, lineage: Lineage): boolean {
  const { generation, predecessor } = head;
  if (frames.length > 0 || !isOf(lineage, predecessor)) return false;
  return [...lineage.keys()].every(
    (noted) => noted <= predecessor.generation || noted > generation,
  );
}

/** Throws `StoreDamagedError` when there is a file that does not belong to the base. */
export function assertOwn({ noted, foreign }: FilesByOrigin, applied: Applied): void {
  for (const file of foreign) throw notOwn(file, applied);
  if (!applied.isSettled) return;
  // A base that needs no journal has all frames of the one that was given up.
  for (const file of noted) {
    const frames = counted(file.frames, file, noted);
    if (frames.some(({ sequence }) => sequence > applied.sequence)) throw notOwn(file, applied);
  }
}

function notOwn({ name, head }: FoundFile, { generation, secret }: Applied): StoreDamagedError {
  const { predecessor } = head;
  const isNext = predecessor.generation === generation && predecessor.secret === secret;
  if (generation === 0 || isNext) {
    return new StoreDamagedError(
      `The data file does not know of the journal file ${name}, which has what was acknowledged ` +
        'later: it is an older copy, or a new one. No data were changed. Put back the data file ' +
        'that was in use with this journal, or restore a backup of the whole data directory.',
    );
  }
  return new StoreDamagedError(
    `The journal file ${name} does not belong to the data file, which was last in use with ` +
      'another journal, or with none. No data were changed. Move it away and put back what ' +
      'belongs to the data file, or restore a backup of the whole data directory.',
  );
}
