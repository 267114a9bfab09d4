import { StoreDamagedError } from '../../kv/errors.js';
import { decodeFileHead, secretOf, type FileHead } from './file-head.js';
import { decodeLink, type FileLink } from './file-link.js';
import { blockBytes, decodeFrame, type FoundFrame } from './frame.js';
import type { JournalFiles } from './journal-files.js';

/** What the base knows of the journal that stands before it. */
export interface Applied {
  /** The last frame of which the base has everything. */
  readonly sequence: number;
  /** The last opening; 0 before the first. */
  readonly generation: number;
  /** Of its files the one that has that frame, or the first one. */
  readonly file: number;
  /** That opening has ended in order: there need be no journal. */
  readonly isSettled: boolean;
}

export interface Recovered {
  /** Those that the base may lack, in their order. */
  readonly frames: readonly FoundFrame[];
  /** Of the last frame of all. */
  readonly lastSequence: number;
}

/** What recovery leaves out, for simulations that have to notice. */
export interface Trust {
  /** Frames are taken as they are, written whole or not. */
  readonly checksums?: boolean;
  /** Frames count also when the base has them, and when others are missing. */
  readonly sequences?: boolean;
}

interface FoundInFile {
  readonly head: FileHead;
  readonly frames: readonly FoundFrame[];
  readonly links: readonly FileLink[];
}

/**
 * What was acknowledged and not applied yet. A frame that was not written whole is the last of all;
 * it was never acknowledged. `StoreDamagedError` when a frame is missing before others, or a file
 * that should have some.
 */
export async function recover(
  files: JournalFiles,
  applied: Applied,
  trust: Trust = {},
): Promise<Recovered> {
  const found: FoundInFile[] = [];
  for await (const { content } of files.retired()) {
    const inFile = readFile(content, trust);
    if (inFile !== undefined) found.push(inFile);
  }
  assertBegun(files.name, found, applied);
  const frames = found
    .flatMap((inFile) => counted(inFile.frames, inFile, found))
    .toSorted((left, right) => left.sequence - right.sequence);
  const restart = frames.findLast(({ kind }) => kind === 'restart')?.sequence ?? 0;
  const from = Math.max(applied.sequence, restart);
  if (trust.sequences === true) return { frames, lastSequence: frames.at(-1)?.sequence ?? from };
  const missing = frames.filter(({ sequence }) => sequence > from);
  assertWhole(files.name, missing, from, found);
  // What is left of a journal that was given up may lack any file.
  if (!applied.isSettled) assertContinued(files.name, found, from);
  return { frames: missing, lastSequence: missing.at(-1)?.sequence ?? from };
}

function readFile(content: Buffer, trust: Trust): FoundInFile | undefined {
  const first = decodeFileHead(content);
  const head = first ?? decodeFileHead(content.subarray(content.length - blockBytes));
  if (head === undefined) return undefined;
  const secret = secretOf(head);
  const frames: FoundFrame[] = [];
  const links: FileLink[] = [];
  // Frames of a former use of the file stand behind those of the last, cut off at any block.
  for (let at = blockBytes; at < content.length;) {
    const frame = decodeFrame(content, at, trust.checksums === true ? undefined : secret);
    const link = frame === undefined ? decodeLink(content, at, secret) : undefined;
    if (frame !== undefined) frames.push(frame);
    if (link !== undefined) links.push(link);
    at += frame?.bytes ?? blockBytes;
  }
  return { head, frames, links };
}

/** What a process wrote after another had begun where it was then does not count. */
function counted<Part extends { readonly sequence: number }>(
  parts: readonly Part[],
  { head }: FoundInFile,
  all: readonly FoundInFile[],
): Part[] {
  const later = all.filter((other) => other.head.generation > head.generation);
  const end = Math.min(...later.map((other) => other.head.firstSequence));
  return parts.filter(({ sequence }) => sequence < end);
}

/** The file that the base knows of is there. */
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

/** Each file that was to get frames is there, whether it has got any or not. */
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

/** No frame is missing between others, nor before the first one of an opening. */
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
