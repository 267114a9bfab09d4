import { dirname } from 'node:path';
import { compiledLocation } from './compiled-location.js';
import type { Mutant } from './mutants.js';
import type { ProjectCopy } from './project-copy.js';
import { runTestFile, type Ending } from './test-file.js';
import { executedLength, reaches, type MappedTest } from './test-map.js';

/** The result of a mutant. `refused`: the compiler or the start of the program rejects it. */
export type Outcome = 'caught' | 'survived' | 'refused';

export interface Trial {
  readonly mutant: Mutant;
  readonly outcome: Outcome;
  /** The test file that caught it. */
  readonly by?: string;
  /** The test files that ran, in order. */
  readonly ran: readonly string[];
  /** The number of test files that execute the mutated code. */
  readonly reaching: number;
}

export interface TrialPlan {
  /**
   * The total time of the test files for one mutant, as measured for the map; the cheapest run
   * first.
   */
  readonly seconds: number;
  /** The test file to run first, if it still executes the mutated code. */
  readonly first?: string | undefined;
}

/**
 * A test file hangs when it takes longer than `slowness` times its usual time, plus
 * `patienceSeconds`.
 */
const slowness = 5;
const patienceSeconds = 20;

/** Tries mutants in sequence on one copy of the project, and restores the copy after each. */
export class Trials {
  readonly #copy: ProjectCopy;
  readonly #tests: readonly MappedTest[];
  /** How often a test file has caught a mutant of a source file. */
  readonly #catches = new Map<string, number>();

  constructor(copy: ProjectCopy, tests: readonly MappedTest[]) {
    this.#copy = copy;
    this.#tests = tests;
  }

  async run(mutant: Mutant, plan: TrialPlan): Promise<Trial> {
    const { file, start, end, text } = mutant;
    const { module, hash, offset } = compiledLocation(this.#copy.root, file, start);
    const reaching = this.#tests.filter((test) => reaches(test, module, hash, offset));
    const whole = this.#copy.read(file);
    const mutated = whole.slice(0, start) + text + whole.slice(end);
    const caught = await this.#copy.withText(file, mutated, async () =>
      this.#copy.starts()
        ? this.#catch(mutant, this.#within(plan, this.#inOrder(mutant, reaching)))
        : undefined,
    );
    return { mutant, outcome: 'refused', ran: [], reaching: reaching.length, ...caught };
  }

  async #catch(
    mutant: Mutant,
    tests: readonly MappedTest[],
  ): Promise<Pick<Trial, 'outcome' | 'by' | 'ran'>> {
    const ran: string[] = [];
    for (const test of tests) {
      ran.push(test.file);
      if (!(await this.#fails(test))) continue;
      const name = `${mutant.file} ${test.file}`;
      this.#catches.set(name, (this.#catches.get(name) ?? 0) + 1);
      return { outcome: 'caught', by: test.file, ran };
    }
    return { outcome: 'survived', ran };
  }

  /** Only a repeated failure counts: on a busy machine a test may fail without cause. */
  async #fails({ file, seconds }: MappedTest): Promise<boolean> {
    const run = async (): Promise<Ending> => {
      const limit = patienceSeconds + slowness * seconds;
      return (await runTestFile(this.#copy.root, file, { seconds: limit })).ending;
    };
    const ending = await run();
    return ending === 'hung' || (ending === 'failed' && (await run()) !== 'passed');
  }

  /**
   * The cheapest first. Test files in the same folder, that execute much of the file, or that
   * caught other mutants of it, are more likely to catch this one.
   */
  #inOrder(mutant: Mutant, tests: readonly MappedTest[]): readonly MappedTest[] {
    const most = Math.max(1, ...tests.map((test) => executedLength(test, mutant.file)));
    const costOf = (test: MappedTest): number => {
      const catches = this.#catches.get(`${mutant.file} ${test.file}`) ?? 0;
      const beside = dirname(test.file) === dirname(mutant.file) ? 4 : 0;
      const share = executedLength(test, mutant.file) / most;
      return test.seconds / (share ** 4 * (1 + 4 * catches + beside));
    };
    return tests
      .map((test) => ({ test, cost: costOf(test) }))
      .sort((a, b) => a.cost - b.cost)
      .map(({ test }) => test);
  }

  #within({ seconds, first }: TrialPlan, tests: readonly MappedTest[]): readonly MappedTest[] {
    const ordered = [
      ...tests.filter(({ file }) => file === first),
      ...tests.filter(({ file }) => file !== first),
    ];
    let left = seconds;
    return ordered.filter((test, index) => {
      left -= test.seconds;
      return index === 0 || left >= 0;
    });
  }
}
