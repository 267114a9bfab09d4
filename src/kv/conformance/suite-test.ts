import * as limited from './limited-test.js';

/** What a test of the suite asks of its runner. */
export interface TestScope {
  after(done: () => Promise<void>): void;
}

export interface TestCase {
  readonly name: string;
  readonly body: (scope: TestScope) => Promise<void>;
}

/** Where tests go instead of to the runner, while they are collected. */
let collected: TestCase[] | undefined;

/** Defines a test of the suite. */
export function it(name: string, body: TestCase['body']): void {
  if (collected === undefined) limited.it(name, body);
  else collected.push({ name, body });
}

/** The tests that `define` would have given to the runner: for tests of the suite itself. */
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
