import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { describe, it } from 'node:test';
import { confirmed } from '../terminal/confirm.js';
import { duration } from './option-parsers.js';

void describe('durations', () => {
  void it('are seconds, or a number with its unit', () => {
    const parse = duration(0, 604_800);
    const cases: [string, number][] = [
      ['0', 0],
      ['90', 90],
      ['30s', 30],
      ['5m', 300],
      ['2h', 7200],
      ['7d', 604_800],
    ];
    for (const [text, seconds] of cases) assert.equal(parse(text), seconds, text);
  });

  void it('are refused beyond their bounds and in any other form', () => {
    const parse = duration(1, 604_800);
    for (const text of [
      '',
      '0',
      '8d',
      '-1',
      '1.5',
      '5M',
      '5 m',
      'm',
      '1w',
      '1e3',
      '9'.repeat(16),
    ]) {
      assert.throws(() => parse(text), /1 to 604800 seconds/, text);
    }
  });
});

void describe('a question to a person', () => {
  const cases: [string | undefined, boolean][] = [
    ['y\n', true],
    ['YES\n', true],
    ['\n', false],
    ['yesterday\n', false],
    [undefined, false],
  ];
  for (const [answer, expected] of cases) {
    void it(`takes ${JSON.stringify(answer) ?? 'the end of input'} for ${expected}`, async () => {
      const input = new PassThrough();
      const output = new PassThrough();
      if (answer === undefined) input.end();
      else input.write(answer);
      assert.equal(await confirmed('Sure?', input, output), expected);
      assert.match(
        String(output.read()),
        answer === undefined ? /^Sure\? \[y\/N\] \n$/ : /^Sure\? \[y\/N\] /,
      );
    });
  }
});
