import type { TestContext } from 'node:test';
import * as runner from 'node:test';

/**
 * Much longer than any test of an engine takes, so that a broken engine fails and does not hang.
 */
export const testMillisMax = 60_000;

type Body = (context: TestContext) => Promise<void>;

interface Options {
  /** Why the test is not run, if so. */
  readonly skip?: false | string;
  /** For a test that does more than others, as in its long form. Default: `testMillisMax`. */
  readonly millisMax?: number;
}

/** The test function of node:test, with a limit on the time that the test may take. */
export function it(
  name: string,
  ...given: readonly [body: Body] | readonly [options: Options, body: Body]
): void {
  const [options, body]: readonly [Options, Body] = given.length === 1 ? [{}, given[0]] : given;
  const { skip = false, millisMax = testMillisMax } = options;
  void runner.it(name, { skip, timeout: millisMax }, body);
}
