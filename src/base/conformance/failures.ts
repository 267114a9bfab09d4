import { casesOf, type TestCase } from './suite-test.js';

/** Which tests of a section of a suite fail on a subject: for subjects that are wrong. */
export async function failuresOf<Suite>(
  section: (suite: Suite) => void,
  suite: Suite,
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
