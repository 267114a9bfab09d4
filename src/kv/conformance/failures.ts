import { casesOf, type TestCase } from './suite-test.js';
import type { ConformanceSuite } from './suite.js';

/** Which tests of a section fail on a store: for stores that are wrong. */
export async function failuresOf(
  section: (suite: ConformanceSuite) => void,
  suite: ConformanceSuite,
): Promise<readonly string[]> {
  const failed: string[] = [];
  for (const each of casesOf(() => section(suite))) {
    if (await isFailing(each)) failed.push(each.name);
  }
  return failed;
}

async function isFailing({ body }: TestCase): Promise<boolean> {
  const atEnd: (() => Promise<void>)[] = [];
  try {
    await body({ after: (done) => void atEnd.push(done) });
    return false;
  } catch {
    return true;
  } finally {
    for (const end of atEnd.toReversed()) await end();
  }
}
