import { StoreDamagedError } from '../../kv/errors.js';
import { decodeFileHead, secretOf, type FileHead } from './file-head.js';
import { blockBytes, decodeFrame, type FoundFrame } from './frame.js';
import type { JournalFiles } from './journal-files.js';

/** What the base knows of the journal that stands before it. */
export interface Applied {
  /** The last frame of which the base has everything. */
  readonly sequence: number;
  /** The last opening; 0 before the first. */
  readonly generation: number;
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
}

/**
 * What was acknowledged and not applied yet. A frame that was not written whole is the last of all;
 * it was never acknowledged. One that is missing before others was lost: `StoreDamagedError`.
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
  assertPresent(found, applied);
  const frames = found
    .flatMap((inFile) => countedFrames(inFile, found))
    .toSorted((left, right) => left.sequence - right.sequence);
  const restart = frames.findLast(({ kind }) => kind === 'restart')?.sequence ?? 0;
  const from = Math.max(applied.sequence, restart);
  if (trust.sequences === true) return { frames, lastSequence: frames.at(-1)?.sequence ?? from };
  const missing = frames.filter(({ sequence }) => sequence > from);
  assertWhole(missing, from);
  return { frames: missing, lastSequence: missing.at(-1)?.sequence ?? from };
}

function readFile(content: Buffer, trust: Trust): FoundInFile | undefined {
  const first = decodeFileHead(content);
  const head = first ?? decodeFileHead(content.subarray(content.length - blockBytes));
  if (head === undefined) return undefined;
  const secret = secretOf(head);
  const frames: FoundFrame[] = [];
  // Frames of a former use of the file stand behind those of the last, cut off at any block.
  for (let at = blockBytes; at < content.length;) {
    const frame = decodeFrame(content, at, trust.checksums === true ? undefined : secret);
    if (frame !== undefined) frames.push(frame);
    at += frame?.bytes ?? blockBytes;
  }
  return { head, frames };
}

/** What a process wrote after another had begun where it was then does not count. */
function countedFrames({ head, frames }: FoundInFile, all: readonly FoundInFile[]): FoundFrame[] {
  const later = all.filter((other) => other.head.generation > head.generation);
  const end = Math.min(...later.map((other) => other.head.firstSequence));
  return frames.filter(({ sequence }) => sequence < end);
}

function assertPresent(found: readonly FoundInFile[], applied: Applied): void {
  const { generation, isSettled } = applied;
  if (isSettled || found.some(({ head }) => head.generation >= generation)) return;
  throw new StoreDamagedError(
    'The journal is missing: the data file was in use with one, which held what was acknowledged ' +
      `last. ${advice}`,
  );
}

function assertWhole(frames: readonly FoundFrame[], from: number): void {
  for (const [index, { sequence }] of frames.entries()) {
    const expected = from + 1 + index;
    if (sequence === expected) continue;
    throw new StoreDamagedError(
      `The journal is damaged: it has frame ${sequence}, and lacks frame ${expected}. ${advice}`,
    );
  }
}

const advice = 'Restore a backup of the whole data directory.';
