import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { LogLines } from './log-lines.js';

const line = fc
  .tuple(fc.string({ unit: 'binary' }), fc.constantFrom(0, 1, 4000, 70_000))
  .map(([text, more]) => `${text}${'ü'.repeat(more)}\n`);

function filled(texts: readonly string[]): LogLines {
  const lines = new LogLines();
  for (const text of texts) lines.add(Buffer.from(text), 1);
  return lines;
}

const textOf = (pieces: readonly Buffer[]) => Buffer.concat(pieces).toString();

describe('lines that wait for their log', () => {
  it('are the bytes of all texts in their order, however long and whatever they have', () => {
    const some = fc.array(line, { maxLength: 6 });
    const same = fc.property(some, some, some, (first, second, third) => {
      const lines = filled(first);
      const before = lines.pieces();
      lines.addAll(filled(second));
      for (const text of third) lines.add(Buffer.from(text), 1);
      const all = [...first, ...second, ...third].join('');
      assert.equal(textOf(lines.pieces()), all);
      assert.equal(textOf(before), first.join(''), 'what was taken before stays');
      assert.equal(lines.bytes, Buffer.byteLength(all));
      assert.equal(lines.count, first.length + second.length + third.length);
    });
    fc.assert(same, { numRuns: 30 });
  });
});
