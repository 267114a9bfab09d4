import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { runCommand } from '../../../test/support/command-host.js';
import { refuseExcessArguments } from './excess-arguments.js';
import { UsageError } from '../terminal/failure.js';
import { buildProgram } from '../program.js';
import { costly } from '../../../test/support/run-length.js';

const cases: readonly [line: string, message: RegExp][] = [
  ['start foo', /^tabularium start takes options only, not 'foo'\. Did you mean --location foo\?/],
  ['check foo', /Did you mean --location foo\? See: tabularium check --help$/],
  [
    'queue list foo',
    /^tabularium queue list takes options only, not 'foo'\. See: tabularium queue/,
  ],
  ['queue get -q one two', /takes options only, not 'two'\. See: /],
  ['dev-token foo', /^tabularium dev-token takes options only, not 'foo'\. See: /],
  ['import azurite a b', /takes <directory> and options, and 'b' is one word more\./],
  ['queue put a b -q one', /takes <text> and options, and 'b' is one word more\. Put a text with/],
];

describe('a word too many', () => {
  for (const [line, message] of cases) {
    it(`is refused with what to do: ${line}`, async () => {
      const words = line.split(' ');
      const program = await buildProgram(words);
      await assert.rejects(
        program.parseAsync(words, { from: 'user' }),
        (error) => error instanceof UsageError && message.test(error.message),
      );
    });
  }
});

describe('words that a command has a place for', () => {
  it('are taken, however many', async () => {
    const { commands } = await buildProgram();
    const insert = commands.find((command) => command.name() === 'table')?.commands[1];
    assert.equal(insert?.name(), 'insert');
    insert.args = ['PartitionKey=a', 'RowKey=b', 'Count:int32=1'];
    refuseExcessArguments(insert);
  });
});

describe('a wrong command line', () => {
  it('ends with 2 and leads to the help of its command', costly(), async () => {
    for (const line of ['queue get', 'import azurite', 'table query --nonsense', 'check -l']) {
      const { code, stderr } = await runCommand(line.split(' '));
      assert.equal(code, 2);
      const command = line.replace(/ -.*/, '');
      assert.match(stderr, new RegExp(`^error: .*\nSee: tabularium ${command} --help\n$`));
    }
  });

  it('has no empty data directory, which would be the working directory', async () => {
    const { code, stderr } = await runCommand(['check', '--location', '']);
    assert.equal(code, 2);
    assert.match(stderr, /^error: --location is empty: give a value, or leave it out\./);
  });
});
