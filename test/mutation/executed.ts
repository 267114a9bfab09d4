import { createHash } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The executed parts of a compiled module: offsets in its text, alternately begin and end. */
export interface ExecutedModule {
  /** The hash of the text that the offsets refer to. */
  readonly hash: string;
  readonly segments: readonly number[];
}

/** By path relative to `dist`. */
export type Executed = Readonly<Record<string, ExecutedModule>>;

interface Range {
  readonly startOffset: number;
  readonly endOffset: number;
  readonly count: number;
}

interface ScriptCoverage {
  readonly url: string;
  readonly functions: readonly { readonly ranges: readonly Range[] }[];
}

export function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 22);
}

/**
 * Reads the coverage files of V8 in a folder, for the modules under `dist` that `isWanted` selects.
 */
export function readExecuted(
  folder: string,
  dist: string,
  isWanted: (module: string) => boolean,
): Executed {
  const marks = new Map<string, Uint8Array>();
  for (const file of readdirSync(folder)) {
    const { result } = JSON.parse(readFileSync(join(folder, file), 'utf8')) as {
      readonly result: readonly ScriptCoverage[];
    };
    for (const script of result) {
      const module = moduleOf(script.url, dist);
      if (module === undefined || !isWanted(module)) continue;
      addMarks(marks, module, marksOf(script));
    }
  }
  return Object.fromEntries(
    [...marks].map(([module, marked]) => [
      module,
      {
        hash: hashOf(readFileSync(join(dist, module), 'utf8')),
        segments: segmentsOf(marked),
      },
    ]),
  );
}

export function isExecuted({ segments }: ExecutedModule, offset: number): boolean {
  for (let index = 0; index < segments.length; index += 2) {
    if (offset < (segments[index] ?? 0)) return false;
    if (offset < (segments[index + 1] ?? 0)) return true;
  }
  return false;
}

function moduleOf(url: string, dist: string): string | undefined {
  if (!url.startsWith('file:')) return undefined;
  const path = fileURLToPath(url);
  return path.startsWith(`${dist}/`) ? path.slice(dist.length + 1) : undefined;
}

/**
 * One byte for each character: 1 if it was executed. Inner ranges take precedence over outer ones.
 */
function marksOf({ functions }: ScriptCoverage): Uint8Array {
  const ranges = functions
    .flatMap((each) => each.ranges)
    .sort((a, b) => a.startOffset - b.startOffset || b.endOffset - a.endOffset);
  const marks = new Uint8Array(Math.max(0, ...ranges.map(({ endOffset }) => endOffset)));
  for (const { startOffset, endOffset, count } of ranges) {
    marks.fill(count > 0 ? 1 : 0, startOffset, endOffset);
  }
  return marks;
}

/** A character counts as executed when any of the processes has executed it. */
function addMarks(all: Map<string, Uint8Array>, module: string, marks: Uint8Array): void {
  const known = all.get(module);
  if (known === undefined) all.set(module, marks);
  else for (const [offset, mark] of marks.entries()) if (mark === 1) known[offset] = 1;
}

function segmentsOf(marks: Uint8Array): number[] {
  const segments: number[] = [];
  for (const [offset, mark] of marks.entries()) {
    const isOpen = segments.length % 2 === 1;
    if ((mark === 1) !== isOpen) segments.push(offset);
  }
  if (segments.length % 2 === 1) segments.push(marks.length);
  return segments;
}
