import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { BeginningViews } from './beginning-views.js';

describe('views of the beginning of a buffer', () => {
  const [one, other] = [Buffer.alloc(256, 1), Buffer.alloc(256, 2)];

  it('are kept for lengths within a step', () => {
    const views = new BeginningViews();
    const view = views.of(one, 0, 65);
    assert.equal(view.length, 128);
    assert.equal(views.of(one, 0, 128), view);
    assert.notEqual(views.of(one, 0, 129), view);
  });

  it('are of the buffer and the place that are asked for, whatever was asked for before', () => {
    const views = new BeginningViews();
    for (const [source, start] of [
      [one, 0],
      [other, 0],
      [other, 64],
      [one, 64],
    ] as const) {
      const view = views.of(source, start, 10);
      assert.equal(view.byteOffset, source.byteOffset + start);
      assert.equal(view[0], source[start]);
    }
  });
});
