import { dirname } from 'node:path';
import { compiledPlace } from './compiled-place.js';
import type { Mutant } from './mutants.js';
import type { ProjectCopy } from './project-copy.js';
import { runTestFile, type Ending } from './test-file.js';
import { reaches, type MappedTest } from './test-map.js';

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

  /** The quickest first; those beside the file, or that have caught others of it, are more likely. */
  #inOrder(mutant: Mutant, tests: readonly MappedTest[]): readonly MappedTest[] {
    const costOf = ({ file, seconds }: MappedTest): number => {
      const catches = this.#catches.get(`${mutant.file} ${file}`) ?? 0;
      const isBeside = dirname(file) === dirname(mutant.file);
      return seconds / (1 + 4 * catches + (isBeside ? 4 : 0));
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
