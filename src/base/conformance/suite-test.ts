import * as limited from './limited-test.js';

/** The parts of a test context that the suite uses. */
export interface TestScope {
  after(done: () => Promise<void>): void;
}

export interface TestCase {
  readonly name: string;
  readonly body: (scope: TestScope) => Promise<void>;
}

/** While tests are collected, they are added here instead of to the runner. */
let collected: TestCase[] | undefined;

/** Defines a test of the suite. */
export function it(name: string, body: TestCase['body']): void {
  if (collected === undefined) limited.it(name, body);
  else collected.push({ name, body });
}

/** The tests that `define` defines, without running them: for tests of the suite itself. */
export function casesOf(define: () => void): readonly TestCase[] {
  const cases: TestCase[] = [];
  collected = cases;
  try {
    define();
  } finally {
    collected = undefined;
  }
  return cases;
}
