import { StoreDamagedError } from '../../kv/errors.js';
import type { Applied } from './base-note.js';
import { fileFormat } from './file-head.js';
import { counted, isFile, readFoundFile, type FoundFile } from './found-file.js';
import type { FoundFrame } from './frame.js';
import type { JournalFiles } from './journal-files.js';
import { assertOwn, filesByOrigin, type FilesByOrigin } from './lineage.js';

export interface Recovered {
  /** The frames that the base may lack, in order. */
  readonly frames: readonly FoundFrame[];
  /** The number of the last frame. */
  readonly lastSequence: number;
}

/** Checks that recovery skips, for simulations that must then find errors. */
export interface SkippedChecks {
  /** Accepts frames that were not written completely. */
  readonly checksums?: boolean;
  /** Accepts frames that the base already has, and gaps between frames. */
  readonly sequences?: boolean;
}

export interface RecoveryOptions {
  readonly skippedChecks?: SkippedChecks | undefined;
  /** Called with the number of files that have been read, after each: there may be very many. */
  readonly onRead?: ((files: number) => void) | undefined;
}

/**
 * Reads the frames that were acknowledged and may not have been applied. An incomplete frame can
 * only be the last one, and was never acknowledged. Throws `StoreDamagedError` when a frame before
 * others, or a file that a link names, is missing.
 */
export async function recover(
  files: JournalFiles,
  applied: Applied,
  { skippedChecks: skipped = {}, onRead }: RecoveryOptions = {},
): Promise<Recovered> {
  const found: FoundFile[] = [];
  const checks = skipped.checksums !== true;
  const appliedUpTo = skipped.sequences === true ? 0 : applied.sequence;
  let read = 0;
  for await (const { name, content } of files.retired()) {
    read += 1;
    onRead?.(read);
    const file = readFoundFile(name, content, { checks, appliedUpTo });
    if (file !== undefined) found.push(file);
  }
  assertReadable(found);
  const byOrigin = filesByOrigin(found, applied);
  const { noted, begun } = byOrigin;
  assertPresent(files.name, byOrigin, applied);
  assertOwn(byOrigin, applied);
  assertReached(noted, applied);
  const frames = noted
    .flatMap((file) => counted(file.frames, file, noted))
    .toSorted((left, right) => left.sequence - right.sequence);
  const from = applied.sequence;
  if (skipped.sequences === true) return { frames, lastSequence: frames.at(-1)?.sequence ?? from };
  const missing = frames.filter(({ sequence }) => sequence > from);
  assertWhole(files.name, missing, from, [...noted, ...begun]);
  assertRestored(files.name, missing);
  // Removing a settled journal may have been interrupted, so any file may be missing.
  if (!applied.isSettled) {
    assertContinued(files.name, noted, from);
    assertNotCut(noted, applied);
  }
  return { frames: missing, lastSequence: missing.at(-1)?.sequence ?? from };
}

/** Refuses files of another format, and two that are the same file of a generation. */
function assertReadable(found: readonly FoundFile[]): void {
  const names = new Map<string, string>();
  for (const { name, head } of found) {
    if (head.format !== fileFormat) {
      throw new StoreDamagedError(
        `The journal file ${name} has format ${head.format}, and this release reads format ` +
          `${fileFormat}. No data were changed. Start the release that wrote it, or restore a ` +
          'backup of the whole data directory.',
      );
    }
    const file = `${head.generation} ${head.number}`;
    const other = names.get(file);
    if (other !== undefined) {
      throw new StoreDamagedError(
        `The journal has both ${other} and ${name}, which say that they are the same file. ` +
          'No data were changed. Move the copy away, or restore a backup of the whole data ' +
          'directory.',
      );
    }
    names.set(file, name);
  }
}

/**
 * Refuses a file that ends without its second head when nothing follows its frames: the last ones
 * may have been cut off with it. A file that was never used may end like that after a crash.
 */
function assertNotCut(found: readonly FoundFile[], applied: Applied): void {
  const generation = Math.max(0, ...found.map(({ head }) => head.generation));
  const ofLast = found.filter(({ head }) => head.generation === generation);
  const linked = new Set(ofLast.flatMap(({ links }) => links.map(({ file }) => file)));
  for (const { name, head, isWhole, frames, links } of ofLast) {
    const last = Math.max(0, ...frames.map(({ sequence }) => sequence));
    if (isWhole || links.some(({ sequence }) => sequence > last)) continue;
    const isNamed = isFile(head, applied.generation, applied.file) || linked.has(head.number);
    if (frames.length === 0 && !isNamed) continue;
    throw new StoreDamagedError(
      `The journal file ${name} has lost its end, and perhaps what was acknowledged last. ` +
        advice,
    );
  }
}

/**
 * Refuses a journal without the file that the note names. Without it nothing tells whether earlier
 * files belong to the base, so this comes first.
 */
function assertPresent(name: string, files: FilesByOrigin, applied: Applied): void {
  const { generation, file, isSettled } = applied;
  if (isSettled || files.noted.some(({ head }) => isFile(head, generation, file))) return;
  if (files.foreign.some(({ head }) => head.generation >= generation)) return;
  const isEmpty = Object.values(files).every(({ length }) => length === 0);
  const lost = isEmpty ? 'is missing' : `lacks file ${file} of generation ${generation}`;
  throw new StoreDamagedError(
    `The journal ${name} ${lost}: the data file was in use with it, and it held what was ` +
      `acknowledged last. ${advice}`,
  );
}

/**
 * Refuses an older copy of the file that the note names: the frame that the note names was in it
 * before the note was written.
 */
function assertReached(noted: readonly FoundFile[], applied: Applied): void {
  const { generation, file: number, sequence, isSettled } = applied;
  const file = noted.find(({ head }) => isFile(head, generation, number));
  // Before its first frame is noted, the sequence is that of an earlier generation.
  if (isSettled || file === undefined || sequence < file.head.firstSequence) return;
  if (file.frames.some((frame) => frame.sequence === sequence)) return;
  throw new StoreDamagedError(
    `The journal file ${file.name} lacks frame ${sequence}, which the data file has from it: it is ` +
      `an older copy, or damaged, and what was acknowledged last may be missing. ${advice}`,
  );
}

/**
 * Refuses a base from before a snapshot was restored: the note covers all frames before a restart
 * when that is written.
 */
function assertRestored(name: string, missing: readonly FoundFrame[]): void {
  const restart = missing.slice(1).find(({ kind }) => kind === 'restart');
  if (restart === undefined) return;
  throw new StoreDamagedError(
    `The data file is older than the journal ${name}: it lacks what was restored with frame ` +
      `${restart.sequence}. ${advice}`,
  );
}

/** Refuses a journal without a file that a link names, whether or not it has got frames. */
function assertContinued(name: string, found: readonly FoundFile[], from: number): void {
  for (const inFile of found) {
    const { generation } = inFile.head;
    for (const { file, sequence } of counted(inFile.links, inFile, found)) {
      if (sequence <= from) continue;
      if (found.some(({ head }) => isFile(head, generation, file))) continue;
      throw new StoreDamagedError(
        `The journal ${name} is damaged: it lacks file ${file} of generation ${generation}, which ` +
          `was to hold frame ${sequence}. ${advice}`,
      );
    }
  }
}

/** Refuses a gap between frames, or before the first frame of a generation. */
function assertWhole(
  name: string,
  frames: readonly FoundFrame[],
  from: number,
  found: readonly FoundFile[],
): void {
  for (const [index, { sequence }] of frames.entries()) {
    const expected = from + 1 + index;
    if (sequence === expected) continue;
    throw new StoreDamagedError(
      `The journal ${name} is damaged: it has frame ${sequence}, and lacks frame ${expected}. ` +
        advice,
    );
  }
  const next = from + 1 + frames.length;
  const begun = Math.max(0, ...found.map(({ head }) => head.firstSequence));
  if (begun <= next) return;
  throw new StoreDamagedError(
    `The journal ${name} is damaged: it goes on with frame ${begun}, and lacks frame ${next}. ` +
      advice,
  );
}

/** A start may have renamed folders of the journal by then, which every start accepts. */
const advice =
  'No data were changed. Put back what is missing, or restore a backup of the whole data ' +
  'directory.';
