import assert from 'node:assert/strict';
import { it } from 'node:test';

type Report = (events: AsyncIterable<unknown>) => AsyncIterable<string>;

const reporter = new URL('../../scripts/source-reporter.js', import.meta.url);
const { default: report } = (await import(reporter.href)) as { readonly default: Report };

/** The output of the reporter for a text that a test wrote. */
async function printed(message: string): Promise<string> {
  const events = async function* () {
    yield await Promise.resolve({ type: 'test:stderr', data: { message } });
  };
  let text = '';
  for await (const part of report(events())) text += part;
  return text;
}

void it('shows places of compiled files as those of their sources', async () => {
  const { stack = '' } = new Error('here');
  assert.match(await printed(stack), /[ (]test\/source-reporter\.test\.ts:\d+:\d+/);
  const text = 'at dist/test/source-reporter.test.js:1:1\n';
  assert.equal(await printed(text), 'at test/source-reporter.test.ts:1:1\n');
  const others = 'at dist/none.js:1:1\nat ./dist/test/source-reporter.test.js\n';
  assert.equal(await printed(others), others);
});
