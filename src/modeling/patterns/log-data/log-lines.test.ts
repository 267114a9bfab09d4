import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { Instant } from '../../rows/instant.js';
import { ticksMax } from '../../rows/ticks.js';
import { checkLogFormat, formatRecord, parseRecord, type LogFormat } from './log-lines.js';

const format: LogFormat<'operation' | 'status' | 'comment'> = {
  columns: ['operation', 'status', 'comment'],
};
const time = Instant.parse('2014-07-31T18:25:43.1234567Z');

describe('lines of a log', () => {
  it('hold the time and the values in order', () => {
    const line = formatRecord(format, { time, operation: 'PutMessage', status: '201' });
    assert.equal(line, '2014-07-31T18:25:43.1234567Z;PutMessage;201;\n');
  });

  it('keep what delimits in quotes', () => {
    const record = { time, operation: 'a;b', status: '', comment: 'say "x" & go\r\nhome' };
    const line = formatRecord(format, record);
    assert.equal(
      line,
      '2014-07-31T18:25:43.1234567Z;"a;b";"";"say &quot;x&quot; &amp; go&#13;&#10;home"\n',
    );
    assert.deepEqual(parseRecord(format, line.slice(0, -1)), record);
  });

  it('are one line each and read back, whatever the values hold', () => {
    const delimiter = fc.constantFrom(';', ',', '|', '\t', ' ', '!');
    const value = fc.option(
      fc.oneof(
        fc.string({ unit: 'grapheme' }),
        fc.string({
          unit: fc.constantFrom('"', '&', ';', '\n', '\r', '\0', '\u2028', '\u0085', '#', 'a'),
        }),
        fc.constantFrom('&quot;', '&#10;', '""', '&amp;amp;', '\t'),
      ),
      { nil: undefined },
    );
    const record = fc.record({
      ticks: fc.bigInt(0n, ticksMax),
      values: fc.tuple(value, value, value),
    });
    fc.assert(
      fc.property(delimiter, record, (delimiter, { ticks, values }) => {
        const [operation, status, comment] = values;
        const given = { time: Instant.ofTicks(ticks), operation, status, comment };
        const line = formatRecord({ ...format, delimiter }, given);
        assert.match(line, /^[^\n\r\u2028\u2029\u0085]*\n$/);
        const kept = Object.entries(given).filter(([, value]) => value !== undefined);
        assert.deepEqual(
          parseRecord({ ...format, delimiter }, line.slice(0, -1)),
          Object.fromEntries(kept),
        );
      }),
    );
  });

  it('of before a column was added read with the column absent', () => {
    assert.deepEqual(parseRecord(format, `${time.toString()};Get`), { time, operation: 'Get' });
  });

  it('are refused when no record is like them', () => {
    const bad = {
      'no time': /begin with its time/,
      [`${time.toString()};a;b;c;d`]: /4 values for 3 columns/,
      [`${time.toString()};"a`]: /inside of quotes/,
    };
    for (const [line, message] of Object.entries(bad)) {
      assert.throws(() => parseRecord(format, line), message);
    }
    const half = { time, operation: '\ud800' };
    assert.throws(() => formatRecord(format, half), /half a character/);
  });

  it('need columns and a delimiter that can be told apart', () => {
    const bad: readonly LogFormat<string>[] = [
      { columns: ['a', 'a'] },
      { columns: ['time'] },
      { columns: ['a'], delimiter: '"' },
      { columns: ['a'], delimiter: ':' },
      { columns: ['a'], delimiter: ';;' },
      { columns: ['a'], delimiter: '\n' },
      { columns: Array.from({ length: 1001 }, (_, index) => `c${index}`) },
    ];
    for (const format of bad)
      assert.throws(() => checkLogFormat(format), { name: 'DefinitionError' });
  });
});
