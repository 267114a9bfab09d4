import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { codecOf } from '../../definition/codec.js';
import { defineEntity } from '../../definition/entity-definition.js';
import { key } from '../../definition/key-template.js';
import { string } from '../../definition/scalar-types.js';
import { DecodeError } from '../../rows/model-error.js';
import type { RowProperties } from '../../rows/row.js';
import { largeString } from './large-properties.js';
import { manifestProperty, renderManifest } from './manifest.js';

const Letter = defineEntity({
  type: 'Letter',
  properties: { id: string(), text: largeString().optional() },
  partitionKey: () => key`letters`,
  rowKey: (p) => key`${p.id}`,
});
const codec = codecOf(Letter);
const row = (properties: RowProperties) => ({
  partitionKey: 'letters',
  rowKey: '1',
  properties,
  etag: 'e',
  timestamp: 0n,
});

describe('an optional large value', () => {
  const elsewhere = renderManifest({
    generation: '0'.repeat(32),
    rows: 0,
    values: {
      text: {
        type: 'String',
        at: 'blob',
        encoding: 'identity',
        from: 0,
        stored: 1,
        bytes: 1,
        sha256: '',
        blob: 'b',
      },
    },
  });
  const stored = row({ [manifestProperty]: { type: 'String', value: elsewhere } });

  it('is no absent one when the table was opened without its parts', () => {
    assert.throws(() => codec.fromRow(stored), /'text' .* withLargeValues/);
    assert.throws(() => codec.fromPartialRow(stored, ['text']), DecodeError);
    assert.ok(codec.selectOf(['text'])?.includes(manifestProperty));
  });

  it('may be absent, or stored in its property', () => {
    assert.equal(codec.fromRow(row({})).text, undefined);
    assert.equal(codec.fromRow(row({ text: { type: 'String', value: 'x' } })).text, 'x');
  });
});
