import type { TestContext } from 'node:test';
import * as runner from 'node:test';

/**
 * Much longer than any test of an engine takes, so that a broken engine fails and does not hang.
 */
export const testMillisMax = 60_000;

type Body = (context: TestContext) => Promise<void>;

/** Why a test is not run, if so. */
interface Options {
  readonly skip: false | string;
}

/** The test function of node:test, with a limit on the time that the test may take. */
export function it(
  name: string,
  ...given: readonly [body: Body] | readonly [options: Options, body: Body]
): void {
  const [options, body] = given.length === 1 ? [{ skip: false }, given[0]] : given;
  void runner.it(name, { ...options, timeout: testMillisMax }, body);
}
