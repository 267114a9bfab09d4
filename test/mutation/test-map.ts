import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { hashOf, isExecuted, readExecuted, type Executed } from './executed.js';
import { runTestFile, type Ending } from './test-file.js';

/** A test file that takes longer than this with coverage is not used. */
const fileSecondsMax = 60;
const cacheFolder = join(tmpdir(), 'tabularium-test-map');

/** A compiled test file, and the parts of the source that it executes. */
export interface MappedTest {
  readonly file: string;
  readonly ending: Ending;
  readonly seconds: number;
  readonly executed: Executed;
}

/**
 * Runs every compiled test file of a project copy once to learn what it executes. Results of files
 * whose modules have not changed come from a cache in the system's temporary directory.
 */
export async function mapTests(
  root: string,
  isWanted: (module: string) => boolean,
  tell: (line: string) => void,
): Promise<readonly MappedTest[]> {
  mkdirSync(cacheFolder, { recursive: true });
  const dist = join(root, 'dist');
  const files = readdirSync(dist, { recursive: true })
    .map(String)
    .filter((file) => file.endsWith('.test.js') && !/\.(long|extras)\.test\.js$/.test(file))
    .sort();
  const texts = new Map<string, string>();
  const mapped: MappedTest[] = [];
  for (const [index, file] of files.entries()) {
    const cached = join(cacheFolder, `${hashOf(closureText(dist, file, texts))}.json`);
    if (existsSync(cached)) {
      mapped.push(JSON.parse(readFileSync(cached, 'utf8')) as MappedTest);
      continue;
    }
    const test = await mapOne(root, file, isWanted);
    if (test.ending !== 'failed') writeFileSync(cached, JSON.stringify(test));
    mapped.push(test);
    const place = `map ${index + 1} of ${files.length}`;
    tell(`${place}: ${file} ${test.ending} in ${test.seconds.toFixed(1)} s`);
  }
  return mapped;
}

/**
 * True when a test executes this offset of a module, or might because the module has changed since.
 */
export function reaches(test: MappedTest, module: string, hash: string, offset: number): boolean {
  const executed = test.executed[module];
  if (executed === undefined) return false;
  return executed.hash !== hash || isExecuted(executed, offset);
}

/** The number of characters that a test executes in the module of a source file. */
export function executedLength(test: MappedTest, file: string): number {
  const { segments = [] } = test.executed[file.replace(/\.ts$/, '.js')] ?? {};
  return segments.reduce((sum, at, index) => (index % 2 === 0 ? sum - at : sum + at), 0);
}

async function mapOne(
  root: string,
  file: string,
  isWanted: (module: string) => boolean,
): Promise<MappedTest> {
  const coverage = mkdtempSync(join(tmpdir(), 'coverage-'));
  try {
    const run = await runTestFile(root, file, { seconds: fileSecondsMax, coverage });
    const executed = readExecuted(coverage, join(root, 'dist'), isWanted);
    return { file, ...run, executed: run.ending === 'passed' ? executed : {} };
  } finally {
    rmSync(coverage, { recursive: true, force: true });
  }
}

/** The texts of a compiled file and of everything that it imports, directly or indirectly. */
function closureText(dist: string, file: string, texts: Map<string, string>): string {
  const found = new Set([file]);
  for (const each of found) {
    const path = join(dist, each);
    if (!texts.has(each)) texts.set(each, existsSync(path) ? readFileSync(path, 'utf8') : '');
    for (const match of (texts.get(each) ?? '').matchAll(/(?:from|import)\s*\(?'(\.[^']+\.js)'/g)) {
      found.add(join(dirname(each), match[1] ?? ''));
    }
  }
  return (
    [...found].sort().join('\n') +
    [...found]
      .sort()
      .map((each) => texts.get(each))
      .join('\n')
  );
}
