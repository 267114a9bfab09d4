import { dirname } from 'node:path';
import { compiledPlace } from './compiled-place.js';
import type { Mutant } from './mutants.js';
import type { ProjectCopy } from './project-copy.js';
import { runTestFile, type Ending } from './test-file.js';
import { executedLength, reaches, type MappedTest } from './test-map.js';

/** What became of a mutant. `refused` is one that the compiler or the start of the program finds. */
export type Outcome = 'caught' | 'survived' | 'refused';

export interface Trial {
  readonly mutant: Mutant;
  readonly outcome: Outcome;
  /** The test file that caught it. */
  readonly by?: string;
  /** The test files that ran, in order. */
  readonly ran: readonly string[];
  /** How many test files execute the place. */
  readonly reaching: number;
}

export interface TrialPlan {
  /** How long test files may take for one mutant, as the map has them; the cheapest come first. */
  readonly seconds: number;
  /** The test file to run first, if it still executes the place. */
  readonly first?: string | undefined;
}

/** A mutated test file may take so much longer than without, and so many seconds, before it hangs. */
const slowness = 5;
const patienceSeconds = 20;

/** Tries mutants one after another on one copy of the project, which is whole again after each. */
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
    const { module, hash, offset } = compiledPlace(this.#copy.root, file, start);
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

  /** A failure counts when it repeats: on a busy machine a test may fail by itself. */
  async #fails({ file, seconds }: MappedTest): Promise<boolean> {
    const run = async (): Promise<Ending> => {
      const limit = patienceSeconds + slowness * seconds;
      return (await runTestFile(this.#copy.root, file, { seconds: limit })).ending;
    };
    const ending = await run();
    return ending === 'hung' || (ending === 'failed' && (await run()) !== 'passed');
  }

  /**
   * The quickest first. More likely to catch are those beside the file, those that execute most of
   * it, and those that have caught other mutants of it.
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
