import type { TestContext } from 'node:test';
import * as runner from 'node:test';

/**
 * Much longer than any test of an engine takes, so that a broken engine fails and does not hang.
 */
export const testMillisMax = 60_000;

/** The test function of node:test, with a limit on the time that the test may take. */
export function it(name: string, body: (context: TestContext) => Promise<void>): void {
  void runner.it(name, { timeout: testMillisMax }, body);
}
