import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { startFixture } from '../kit/server.js';
import { costly } from '../../support/run-length.js';

// The examples for queues and blobs in the documentation, run like a user runs them.

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

describe('the examples of queues and blobs', () => {
  it(
    'the quick start of the official client of queues runs and leaves nothing',
    costly(),
    async () => {
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
    },
  );

  it('the first program of the official client of blobs runs unchanged', costly(), async () => {
    const program = fileURLToPath(
      new URL('../../../examples/blob-quickstart/main.js', import.meta.url),
    );
    const AZURE_STORAGE_CONNECTION_STRING = server.connectionString();
    const env = { ...process.env, AZURE_STORAGE_CONNECTION_STRING };
    const { stdout } = await run(process.execPath, [program], { env });
    const lines = stdout.trimEnd().split('\n');
    const [, container] = /^Create container (\S+) successfully/.exec(lines[0] ?? '') ?? [];
    const blob = lines.map((line) => /^Upload block blob (.+) successfully/.exec(line)?.[1]);
    assert.ok(
      lines.some((line) => /^Container \d+: /.test(line) && line.endsWith(`: ${container}`)),
    );
    assert.ok(lines.includes(`Blob 1: ${blob.find((name) => name !== undefined)}`));
    assert.equal(lines.at(-1), 'Downloaded blob content: Hello world!');
  });

  it('the programs of the README run as they are', costly(), async () => {
    const text = readFileSync(`${root}README.md`, 'utf8');
    const section = text.split(/^## /m).find((each) => each.startsWith('Start\n')) ?? '';
    const programs = [...section.matchAll(/^```js\n([^]*?)^```$/gm)].map(([, code = '']) => code);
    const printed: string[] = [];
    for (const program of programs) {
      // The client of tables takes plain http for granted with the short connection string alone.
      const connected = program
        .replaceAll('UseDevelopmentStorage=true', server.connectionString())
        .replace("'people')", "'people', { allowInsecureConnection: true })");
      const args = ['--input-type=module', '--eval', connected];
      printed.push((await run(process.execPath, args, { cwd: root })).stdout);
    }
    assert.deepEqual(printed, ['Ada\n', 'Hello world!\n']);
  });

  const programs: readonly (readonly [page: string, heading: string])[] = [
    ['docs/tutorial/first-steps.md', 'Messages in a queue'],
    ['docs/guides/queues.md', 'A consumer'],
    ['docs/guides/blobs.md', 'A first program'],
  ];
  for (const [page, heading] of programs) {
    it(`the program of ${page} prints what it says`, costly(), async () => {
      const { program, printed } = exampleOf(page, heading);
      const connected = program.replaceAll('UseDevelopmentStorage=true', server.connectionString());
      const args = ['--input-type=module', '--eval', connected];
      const { stdout } = await run(process.execPath, args, { cwd: root });
      assert.equal(stdout, printed);
    });
  }
});
