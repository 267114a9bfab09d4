import { createHash } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** What was executed of one compiled module: offsets of its text in pairs, begin and end. */
export interface ExecutedModule {
  /** Of the text that the offsets are of. */
  readonly hash: string;
  readonly segments: readonly number[];
}

/** By the path below `dist`. */
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

/** Reads what V8 wrote into a folder for the modules under `dist` that `isWanted` names. */
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

/** One byte a character: whether it was executed. Inner ranges overrule those around them. */
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

/** A module is executed where it was in any of the processes. */
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
