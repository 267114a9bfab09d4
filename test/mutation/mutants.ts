import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { API } from 'typescript/unstable/sync';
import { SimRandom } from '../support/sim-random.js';
import { changesOf, type Change } from './operators.js';

/** The layers whose behaviour clients see. */
export const layers = ['wire', 'services', 'http', 'engines'] as const;

/** A change to one file, and its line, counted from 1. */
export interface Mutant extends Change {
  readonly file: string;
  readonly line: number;
  readonly before: string;
  /** The whole line: it identifies the mutant after lines before it have changed. */
  readonly lineText: string;
}

/** The wanted source files of the layers, relative to the project, without tests. */
export function sourceFiles(root: string, wanted: readonly string[]): readonly string[] {
  return layers
    .flatMap((layer) =>
      readdirSync(join(root, 'src', layer), { recursive: true }).map((file) =>
        join('src', layer, String(file)),
      ),
    )
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
    .filter((file) => wanted.length === 0 || wanted.some((part) => file.includes(part)))
    .sort();
}

/** All mutants of the files, in order of position. */
export function allMutants(root: string, files: readonly string[]): readonly Mutant[] {
  const api = new API({ cwd: root });
  try {
    const config = join(root, 'tsconfig.json');
    const program = api.updateSnapshot({ openProjects: [config] }).getProject(config)?.program;
    if (program === undefined) throw new Error(`${config} is not a project`);
    return files.flatMap((file) => {
      const source = program.getSourceFile(join(root, file));
      if (source === undefined) throw new Error(`${file} is not part of ${config}`);
      return changesOf(source).map((change) => mutantOf(file, source.text, change));
    });
  } finally {
    api.close();
  }
}

function mutantOf(file: string, text: string, change: Change): Mutant {
  const line = text.slice(0, change.start).split('\n').length;
  const lineText = (text.split('\n')[line - 1] ?? '').trim();
  return { ...change, file, line, before: text.slice(change.start, change.end), lineText };
}

/**
 * The same change in a source that may have changed elsewhere: the nearest one on an equal line.
 */
export function sameMutant(mutants: readonly Mutant[], wanted: Mutant): Mutant | undefined {
  return mutants
    .filter(
      (each) =>
        each.file === wanted.file &&
        each.operator === wanted.operator &&
        each.before === wanted.before &&
        each.text === wanted.text &&
        each.lineText === wanted.lineText,
    )
    .sort((a, b) => Math.abs(a.start - wanted.start) - Math.abs(b.start - wanted.start))[0];
}

/**
 * Draws mutants without replacement: first a line, all with equal probability, then a mutant of it.
 * So each layer has a share in proportion to its lines with mutants. A line is drawn once.
 */
export function* draw(mutants: readonly Mutant[], seed: number): Generator<Mutant> {
  const random = new SimRandom(seed);
  const lines = byLine(mutants);
  while (lines.length > 0) {
    const [line = []] = lines.splice(random.int(lines.length), 1);
    yield random.pick(line);
  }
}

function byLine(mutants: readonly Mutant[]): (readonly Mutant[])[] {
  const lines = new Map<string, Mutant[]>();
  for (const mutant of mutants) {
    const name = `${mutant.file}:${mutant.line}`;
    lines.set(name, [...(lines.get(name) ?? []), mutant]);
  }
  return [...lines.values()];
}
