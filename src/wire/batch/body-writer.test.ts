import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { BodyWriter } from './body-writer.js';

/** More than a writer keeps. */
const manyBytes = 300_000;

describe('a writer of bodies', () => {
  it('writes texts of any length as Latin-1, and bytes', () => {
    const writer = new BodyWriter();
    writer.begin();
    for (const text of ['é', '', 'ü'.repeat(24), 'ü'.repeat(25)]) writer.text(text);
    writer.bytes(Buffer.from([0, 255]));
    const expected = `é${'ü'.repeat(49)}\0\u00ff`;
    assert.equal(writer.finish().toString('latin1'), expected);
  });

  it('grows, and begins anew', () => {
    const writer = new BodyWriter();
    for (let round = 0; round < 2; round += 1) {
      writer.begin();
      writer.text(`begin${round}`);
      writer.bytes(Buffer.alloc(manyBytes, 'b'));
      writer.text('t'.repeat(manyBytes));
      const expected = `begin${round}${'b'.repeat(manyBytes)}${'t'.repeat(manyBytes)}`;
      assert.equal(writer.finish().toString(), expected);
    }
  });

  it('keeps no reference to a finished body', () => {
    const writer = new BodyWriter();
    writer.begin();
    writer.text('first');
    const first = writer.finish();
    writer.begin();
    writer.text('other');
    assert.equal(first.toString(), 'first');
  });
});
