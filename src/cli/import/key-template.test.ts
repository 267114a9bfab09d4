import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { RowError, UsageError } from '../terminal/failure.js';
import { parseKeyTemplate, renderKey, templateColumns } from './key-template.js';

const row = new Map([
  ['country', 'FR'],
  ['id', '42'],
  ['a:b', 'x'],
]);

function key(template: string): string {
  return renderKey(parseKeyTemplate(template), (column) => row.get(column));
}

void describe('key templates', () => {
  void it('make keys from columns, text, padding and constants', () => {
    assert.equal(key('country'), 'FR');
    assert.equal(key('{country}-{id}'), 'FR-42');
    assert.equal(key('{id:08}'), '00000042');
    assert.equal(key('city_{id:06}!'), 'city_000042!');
    assert.equal(key("'all'"), 'all');
    assert.equal(key("''"), '');
    assert.equal(key('{{{id}}}'), '{42}');
    assert.equal(key('{a:b}'), 'x');
    assert.deepEqual(templateColumns(parseKeyTemplate('{a}x{b:03}')), ['a', 'b']);
  });

  void it('refuse rows whose key would be incomplete or out of order', () => {
    assert.throws(() => key('{missing}'), RowError);
    assert.throws(() => key('{id:01}'), RowError);
    assert.throws(() => key('{country:04}'), RowError);
  });

  void it('refuse templates that cannot be meant', () => {
    for (const template of ['', '{id', '{}', 'id}', '{id:00}', '{id:0999}']) {
      assert.throws(() => parseKeyTemplate(template), UsageError, template);
    }
  });
});
