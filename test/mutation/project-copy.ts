import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** What a copy links to in the original project. */
const linked = ['node_modules', 'extras'];
const leftOut = ['.git', 'dist', ...linked];

/**
 * The compiler rejects mutants that make no sense. A mutant that leaves a name unused does make
 * sense: it is like a forgotten call.
 */
const compilerOptions = ['--noUnusedLocals', 'false', '--noUnusedParameters', 'false'];

const loadMsMax = 20_000;

/** A copy of the project in a temporary directory with its own `dist`, which can be changed. */
export class ProjectCopy {
  readonly root: string;
  readonly #compiler: string;

  constructor(original: string) {
    this.root = mkdtempSync(join(tmpdir(), 'mutation-'));
    cpSync(original, this.root, {
      recursive: true,
      filter: (from) => !leftOut.some((name) => from === join(original, name)),
    });
    for (const name of linked) symlinkSync(join(original, name), join(this.root, name));
    this.#compiler = join(original, 'node_modules', 'typescript', 'bin', 'tsc');
    if (!this.#compile()) throw new Error('the project does not compile: npm run build says why');
  }

  read(file: string): string {
    return readFileSync(join(this.root, file), 'utf8');
  }

  /**
   * Compiles with another text of one file while `use` runs. Resolves with undefined when the
   * compiler rejects the text.
   */
  async withText<Result>(
    file: string,
    text: string,
    use: () => Promise<Result>,
  ): Promise<Result | undefined> {
    const compiled = `dist/${file.replace(/\.ts$/, '')}`;
    const touched = [file, `${compiled}.js`, `${compiled}.js.map`, `${compiled}.d.ts`];
    const before = touched.map((each) => [each, this.read(each)] as const);
    try {
      writeFileSync(join(this.root, file), text);
      return this.#compile() ? await use() : undefined;
    } finally {
      // The next run of the compiler notices the restored source and compiles it again.
      for (const [each, whole] of before) writeFileSync(join(this.root, each), whole);
    }
  }

  /**
   * True when the program can be imported; false when a module throws or does not finish while it
   * loads.
   */
  starts(): boolean {
    const program = join(this.root, 'dist', 'src', 'app', 'index.js');
    const { status } = spawnSync(process.execPath, [program], {
      cwd: this.root,
      stdio: 'ignore',
      timeout: loadMsMax,
    });
    return status === 0;
  }

  remove(): void {
    rmSync(this.root, { recursive: true, force: true });
  }

  #compile(): boolean {
    const { status } = spawnSync(
      process.execPath,
      [this.#compiler, '-p', join(this.root, 'tsconfig.json'), ...compilerOptions],
      { cwd: this.root, stdio: 'ignore' },
    );
    return status === 0;
  }
}
