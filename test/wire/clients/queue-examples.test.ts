import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { startFixture } from '../kit/server.js';

// The examples for queues in the documentation, run like a user runs them.

const { server } = await startFixture();
const root = fileURLToPath(new URL('../../../../', import.meta.url));
const run = promisify(execFile);

/** The JavaScript in a section of a page, and the output that the section shows. */
function exampleOf(page: string, heading: string) {
  const text = readFileSync(`${root}${page}`, 'utf8');
  const section = text.split(/^## /m).find((each) => each.startsWith(`${heading}\n`)) ?? '';
  const blocks = [...section.matchAll(/^```(\w*)\n([^]*?)^```$/gm)];
  const codeOf = (language: string) =>
    blocks.flatMap(([, each, code = '']) => (each === language ? [code] : [])).join('\n');
  const [program, printed] = [codeOf('js'), codeOf('').replace(/^\$ .*\n/m, '')];
  assert.ok(program !== '' && printed !== '', `no program under '${heading}' of ${page}`);
  return { program, printed };
}

describe('the examples of queues', () => {
  it('the quick start of the official client runs and leaves nothing', async () => {
    const program = fileURLToPath(
      new URL('../../../examples/queue-quickstart/main.js', import.meta.url),
    );
    const AZURE_STORAGE_CONNECTION_STRING = server.connectionString();
    const env = { ...process.env, AZURE_STORAGE_CONNECTION_STRING };
    for (let round = 0; round < 2; round += 1) {
      const { stdout } = await run(process.execPath, [program], { env });
      const lines = stdout.trimEnd().split('\n');
      assert.deepEqual(lines.slice(4, 7), [
        '\t First message',
        '\t Second message',
        '\t Third message',
      ]);
      assert.ok(lines.includes('Approximate queue length: 3'));
      const processed = lines.filter((line) => line.startsWith('\tProcessing'));
      assert.deepEqual(processed.toSorted(), [
        '\tProcessing First message',
        '\tProcessing Second message',
        '\tProcessing Third message has been updated',
      ]);
      assert.equal(lines.at(-1), 'Done');
    }
  });

  const programs: readonly (readonly [page: string, heading: string])[] = [
    ['docs/tutorial/first-steps.md', 'Messages in a queue'],
    ['docs/guides/queues.md', 'A consumer'],
  ];
  for (const [page, heading] of programs) {
    it(`the program of ${page} prints what it says`, async () => {
      const { program, printed } = exampleOf(page, heading);
      const connected = program.replaceAll('UseDevelopmentStorage=true', server.connectionString());
      const args = ['--input-type=module', '--eval', connected];
      const { stdout } = await run(process.execPath, args, { cwd: root });
      assert.equal(stdout, printed);
    });
  }
});
