import { StoreDamagedError } from '../../kv/errors.js';
import { decodeFileHead, fileFormat, secretOf, type FileHead } from './file-head.js';
import { decodeLink, type FileLink } from './file-link.js';
import { blockBytes, decodeFrame, type FoundFrame } from './frame.js';
import type { JournalFiles } from './journal-files.js';

/** The content of the note: how far the journal was applied to the base. */
export interface Applied {
  /** The base has the changes of all frames up to this one. */
  readonly sequence: number;
  /** The last generation; 0 before the first. */
  readonly generation: number;
  /** The file of that generation which has that frame; its first file, if none has. */
  readonly file: number;
  /** The secret of the files of that generation; 0 when it is not known. */
  readonly secret: number;
  /** The generation was closed properly, so there need not be a journal. */
  readonly isSettled: boolean;
}

export interface Recovered {
  /** The frames that the base may lack, in order. */
  readonly frames: readonly FoundFrame[];
  /** The number of the last frame. */
  readonly lastSequence: number;
}

/** Checks that recovery skips, for simulations that must then find errors. */
export interface Trust {
  /** Accepts frames that were not written completely. */
  readonly checksums?: boolean;
  /** Accepts frames that the base already has, and gaps between frames. */
  readonly sequences?: boolean;
}

interface FoundInFile {
  /** The path of the file, for messages. */
  readonly name: string;
  readonly head: FileHead;
  /** False when the file ends without its second head: it may have been cut. */
  readonly isWhole: boolean;
  readonly frames: readonly FoundFrame[];
  readonly links: readonly FileLink[];
}

/**
 * Reads the frames that were acknowledged and may not have been applied. An incomplete frame can
 * only be the last one, and was never acknowledged. Throws `StoreDamagedError` when a frame before
 * others, or a file that a link names, is missing.
 */
export async function recover(
  files: JournalFiles,
  applied: Applied,
  trust: Trust = {},
): Promise<Recovered> {
  const found: FoundInFile[] = [];
  for await (const { name, content } of files.retired()) {
    const inFile = readFile(name, content, trust);
    if (inFile !== undefined) found.push(inFile);
  }
  assertReadable(found);
  assertOwn(found, applied);
  assertBegun(files.name, found, applied);
  const frames = found
    .flatMap((inFile) => counted(inFile.frames, inFile, found))
    .toSorted((left, right) => left.sequence - right.sequence);
  const restart = frames.findLast(({ kind }) => kind === 'restart')?.sequence ?? 0;
  const from = Math.max(applied.sequence, restart);
  if (trust.sequences === true) return { frames, lastSequence: frames.at(-1)?.sequence ?? from };
  const missing = frames.filter(({ sequence }) => sequence > from);
  assertWhole(files.name, missing, from, found);
  // Removing a settled journal may have been interrupted, so any file may be missing.
  if (!applied.isSettled) {
    assertContinued(files.name, found, from);
    assertNotCut(found, applied);
  }
  return { frames: missing, lastSequence: missing.at(-1)?.sequence ?? from };
}

function readFile(name: string, content: Buffer, trust: Trust): FoundInFile | undefined {
  const first = decodeFileHead(content);
  const last = decodeFileHead(content.subarray(Math.max(0, content.length - blockBytes)));
  const head = first ?? last;
  if (head === undefined) return undefined;
  const isWhole = last !== undefined && content.length > blockBytes;
  if (head.format !== fileFormat) return { name, head, isWhole, frames: [], links: [] };
  const secret = secretOf(head);
  const frames: FoundFrame[] = [];
  const links: FileLink[] = [];
  // In a reused file, older frames follow the current ones. Any block may begin in the middle of
  // one.
  for (let at = blockBytes; at < content.length;) {
    const frame = decodeFrame(content, at, trust.checksums === true ? undefined : secret);
    const link = frame === undefined ? decodeLink(content, at, secret) : undefined;
    if (frame !== undefined) frames.push(frame);
    if (link !== undefined) links.push(link);
    at += frame?.bytes ?? blockBytes;
  }
  return { name, head, isWhole, frames, links };
}

/** Leaves out what a process wrote after a later generation had begun at an earlier frame. */
function counted<Part extends { readonly sequence: number }>(
  parts: readonly Part[],
  { head }: FoundInFile,
  all: readonly FoundInFile[],
): Part[] {
  const later = all.filter((other) => other.head.generation > head.generation);
  const end = Math.min(...later.map((other) => other.head.firstSequence));
  return parts.filter(({ sequence }) => sequence < end);
}

/** Refuses files of another format, and two that are the same file of a generation. */
function assertReadable(found: readonly FoundInFile[]): void {
  const names = new Map<string, string>();
  for (const { name, head } of found) {
    if (head.format !== fileFormat) {
      throw new StoreDamagedError(
        `The journal file ${name} has format ${head.format}, and this release reads format ` +
          `${fileFormat}. Nothing was changed. Start the release that wrote it, or restore a ` +
          'backup of the whole data directory.',
      );
    }
    const file = `${head.generation} ${head.number}`;
    const other = names.get(file);
    if (other !== undefined) {
      throw new StoreDamagedError(
        `The journal has both ${other} and ${name}, which say that they are the same file. ` +
          'Nothing was changed. Move the copy away, or restore a backup of the whole data directory.',
      );
    }
    names.set(file, name);
  }
}

/**
 * Refuses the journal of other data, where it has the numbers of the one that belongs to the base:
 * files of the generation that the note names, and frames that a settled one has never had.
 */
function assertOwn(found: readonly FoundInFile[], applied: Applied): void {
  const { generation, secret, isSettled, sequence } = applied;
  for (const inFile of found) {
    const { name, head } = inFile;
    const isOther = secret > 0 && head.generation === generation && secretOf(head) !== secret;
    const isSettledOne = isSettled && head.generation <= generation;
    const ofSettled = isSettledOne ? counted(inFile.frames, inFile, found) : [];
    if (!isOther && !ofSettled.some((frame) => frame.sequence > sequence)) continue;
    throw new StoreDamagedError(
      `The journal file ${name} does not belong to the data file, which was last in use with ` +
        'another journal, or with none. Nothing was changed. Move it away and put back what ' +
        'belongs to the data file, or restore a backup of the whole data directory.',
    );
  }
}

/**
 * Refuses a file that ends without its second head when nothing follows its frames: the last ones
 * may have been cut off with it. A file that was never used may end like that after a crash.
 */
function assertNotCut(found: readonly FoundInFile[], applied: Applied): void {
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
        `Nothing was changed. ${advice}`,
    );
  }
}

/** Refuses a journal without the file that the note names. */
function assertBegun(name: string, found: readonly FoundInFile[], applied: Applied): void {
  const { generation, file, isSettled } = applied;
  if (isSettled || found.some(({ head }) => isFile(head, generation, file))) return;
  const lost = found.some(({ head }) => head.generation === generation)
    ? `lacks file ${file} of generation ${generation}`
    : 'is missing';
  throw new StoreDamagedError(
    `The journal ${name} ${lost}: the data file was in use with it, and it held what was ` +
      `acknowledged last. ${advice}`,
  );
}

/** Refuses a journal without a file that a link names, whether or not it has got frames. */
function assertContinued(name: string, found: readonly FoundInFile[], from: number): void {
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

function isFile(head: FileHead, generation: number, number: number): boolean {
  return head.generation === generation && head.number === number;
}

/** Refuses a gap between frames, or before the first frame of a generation. */
function assertWhole(
  name: string,
  frames: readonly FoundFrame[],
  from: number,
  found: readonly FoundInFile[],
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

const advice = 'Put back what is missing, or restore a backup of the whole data directory.';
