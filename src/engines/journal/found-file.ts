import { decodeFileHead, fileFormat, secretOf, type FileHead } from './file-head.js';
import { decodeLink, type FileLink } from './file-link.js';
import { blockBytes, decodeFrame, type FoundFrame } from './frame.js';

/** What recovery finds in a file of a journal. */
export interface FoundFile {
  /** The path of the file, for messages. */
  readonly name: string;
  readonly head: FileHead;
  readonly secret: number;
  /** False when the file ends without its second head: it may have been cut. */
  readonly isWhole: boolean;
  /** Those that the base has are without their changes, which would keep the file in memory. */
  readonly frames: readonly FoundFrame[];
  readonly links: readonly FileLink[];
}

interface ReadOptions {
  /** False: frames that were not written completely are accepted. */
  readonly checks: boolean;
  /** The base has the changes of all frames up to this one. */
  readonly appliedUpTo: number;
}

/** Undefined when the file has no complete head: it was never used. */
export function readFoundFile(
  name: string,
  content: Buffer,
  { checks, appliedUpTo }: ReadOptions,
): FoundFile | undefined {
  const first = decodeFileHead(content);
  const last = decodeFileHead(content.subarray(Math.max(0, content.length - blockBytes)));
  const head = first ?? last;
  if (head === undefined) return undefined;
  const secret = secretOf(head);
  const isWhole = last !== undefined && content.length > blockBytes;
  const found = { name, head, secret, isWhole };
  if (head.format !== fileFormat) return { ...found, frames: [], links: [] };
  const frames: FoundFrame[] = [];
  const links: FileLink[] = [];
  // In a reused file, older frames follow the current ones. Any block may begin in the middle of
  // one.
  for (let at = blockBytes; at < content.length;) {
    const frame = decodeFrame(content, at, checks ? secret : undefined);
    const link = frame === undefined ? decodeLink(content, at, secret) : undefined;
    if (frame !== undefined) {
      frames.push(frame.sequence > appliedUpTo ? frame : { ...frame, changes: [] });
    }
    if (link !== undefined) links.push(link);
    at += frame?.bytes ?? blockBytes;
  }
  return { ...found, frames, links };
}

/** Leaves out what a process wrote after a later generation had begun at an earlier frame. */
export function counted<Part extends { readonly sequence: number }>(
  parts: readonly Part[],
  { head }: FoundFile,
  all: readonly FoundFile[],
): Part[] {
  // Of very many files most have no frames, and the others are looked through for each that has.
  if (parts.length === 0) return [];
  let end = Infinity;
  for (const other of all) {
    if (other.head.generation > head.generation) end = Math.min(end, other.head.firstSequence);
  }
  return parts.filter(({ sequence }) => sequence < end);
}

export function isFile(head: FileHead, generation: number, number: number): boolean {
  return head.generation === generation && head.number === number;
}
