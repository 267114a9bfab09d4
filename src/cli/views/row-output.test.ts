import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { inferredValue, textOfValue } from '../client/edm-text.js';
import { columnsJson, parseEntityJson } from '../client/entity-json.js';
import { renderGrid } from './grid.js';
import { displayWidth, printable, truncated } from '../terminal/terminal.js';
import { costly } from '../../../test/support/run-length.js';

void describe('inferred values', () => {
  void it('are typed only where the text comes back unchanged', () => {
    const cases: [string, string][] = [
      ['0', 'Edm.Int32'],
      ['-2147483648', 'Edm.Int32'],
      ['2147483648', 'Edm.Int64'],
      ['9223372036854775808', 'Edm.String'],
      ['007', 'Edm.String'],
      ['+5', 'Edm.String'],
      ['1.50', 'Edm.Double'],
      ['1e5', 'Edm.Double'],
      ['0.12345678901234567890', 'Edm.String'],
      ['NaN', 'Edm.String'],
      ['true', 'Edm.Boolean'],
      ['True', 'Edm.String'],
      ['2024-02-30T00:00:00Z', 'Edm.String'],
      ['2024-02-29T00:00:00Z', 'Edm.DateTime'],
      ['2024-02-29', 'Edm.String'],
      ['C9DA6455-213D-42C9-9A79-3E9149A57833', 'Edm.Guid'],
      ['', 'Edm.String'],
    ];
    for (const [text, type] of cases) assert.equal(inferredValue(text, 'x').type, type, text);
  });
});

void describe('columns as JSON', () => {
  void it('come back with the same types and values', costly(), () => {
    const column = fc.oneof(
      fc.string({ unit: 'binary' }).map((value) => ({ type: 'Edm.String' as const, value })),
      fc.integer().map((value) => ({ type: 'Edm.Int32' as const, value })),
      fc
        .bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })
        .map((value) => ({ type: 'Edm.Int64' as const, value })),
      fc.double().map((value) => ({ type: 'Edm.Double' as const, value })),
      fc.boolean().map((value) => ({ type: 'Edm.Boolean' as const, value })),
      fc
        .bigInt({ min: 504_911_232_000_000_000n, max: 3_155_378_975_999_999_999n })
        .map((value) => ({ type: 'Edm.DateTime' as const, value })),
      fc.uuid().map((value) => ({ type: 'Edm.Guid' as const, value })),
      fc.uint8Array().map((bytes) => ({ type: 'Edm.Binary' as const, value: Buffer.from(bytes) })),
    );
    fc.assert(
      fc.property(fc.array(column, { maxLength: 5 }), (values) => {
        const columns = values.map((value, at) => ({ name: `c${at}`, value }));
        assert.deepEqual(parseEntityJson(columnsJson(columns)), columns);
      }),
    );
  });

  void it('show dates with seven digits and doubles never as whole numbers', () => {
    assert.equal(
      textOfValue({ type: 'Edm.DateTime', value: 504_911_232_000_000_000n }),
      '1601-01-01T00:00:00.0000000Z',
    );
    assert.equal(textOfValue({ type: 'Edm.Double', value: 3 }), '3.0');
    assert.equal(textOfValue({ type: 'Edm.Double', value: -0 }), '-0.0');
    assert.equal(textOfValue({ type: 'Edm.Double', value: 1e21 }), '1e+21');
  });
});

void describe('grids', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'é', '日', '\u0301', '\n', '😀') });

  void it('stay within the width and keep their columns aligned', () => {
    const cells = fc.array(fc.tuple(text, text, text), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(cells, fc.integer({ min: 30, max: 80 }), (rows, width) => {
        const columns = ['one', 'two', 'three'].map((name) => ({ name, align: 'left' as const }));
        const { lines, hidden } = renderGrid(columns, rows, width);
        assert.deepEqual(hidden, []);
        assert.equal(lines.length, rows.length + 2);
        for (const line of lines) {
          assert.ok(displayWidth(line) <= width);
          assert.ok(!line.includes('\n'));
        }
      }),
    );
  });

  void it('leave out the last columns when there is no room at all', () => {
    const columns = ['PartitionKey', 'RowKey', 'Timestamp'].map((name) => ({
      name,
      align: 'left' as const,
    }));
    const { hidden } = renderGrid(columns, [['x', 'y', 'z']], 20);
    assert.deepEqual(hidden, ['Timestamp']);
  });

  void it('print neither control characters nor more than there is room for', () => {
    assert.equal(printable('a\x1b[31m\u202eb\t'), 'a\\x1b[31m\\u202eb\\t');
    assert.equal(truncated('日本語', 5), '日本…');
    assert.equal(truncated('日本語', 6), '日本語');
  });
});
