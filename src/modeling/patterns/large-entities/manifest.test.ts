import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DecodeError } from '../../rows/model-error.js';
import {
  blobsOf,
  manifestOf,
  manifestProperty,
  parseManifest,
  renderManifest,
  type Manifest,
} from './manifest.js';

const generation = '0123456789abcdef0123456789abcdef';
const sha256 = 'ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=';

const manifest: Manifest = {
  generation,
  rows: 2,
  values: {
    Body: { type: 'String', at: 'rows', encoding: 'br', from: 5, stored: 6, bytes: 7, sha256 },
    Photo: {
      type: 'Binary',
      at: 'blob',
      encoding: 'identity',
      from: 0,
      stored: 3,
      bytes: 3,
      sha256,
      blob: 'large/photos/x',
    },
  },
};

describe('the description of large values', () => {
  it('is the JSON that the reference documents', () => {
    assert.equal(
      renderManifest(manifest),
      `{"v":1,"gen":"${generation}","rows":2,"values":{` +
        `"Body":{"type":"String","at":"rows","enc":"br","from":5,"stored":6,"bytes":7,"sha256":"${sha256}"},` +
        `"Photo":{"type":"Binary","at":"blob","stored":3,"bytes":3,"sha256":"${sha256}","blob":"large/photos/x"}}}`,
    );
  });

  it('reads what it wrote', () => {
    assert.deepEqual(parseManifest(renderManifest(manifest)), manifest);
    assert.deepEqual(blobsOf(manifest), ['large/photos/x']);
    assert.deepEqual(blobsOf(undefined), []);
  });

  for (const [what, from, to] of [
    ['no JSON', '{"v"', '{v'],
    ['a later version', '"v":1', '"v":2'],
    ['a generation of another form', '0123', '012x'],
    ['a count of rows that is none', '"rows":2', '"rows":-1'],
    ['a type that is never large', '"String"', '"Int32"'],
    ['a location that is not known', '"at":"rows"', '"at":"moon"'],
    ['an encoding that is not known', '"br"', '"zstd"'],
    ['a size that is none', '"stored":6', '"stored":6.5'],
    ['a value in a blob without a name', ',"blob":"large/photos/x"', ''],
  ] as const) {
    it(`refuses ${what}`, () => {
      const text = renderManifest(manifest).replace(from, to);
      assert.throws(() => parseManifest(text), DecodeError);
    });
  }

  it('refuses a property of that name that is no text', () => {
    assert.throws(() => manifestOf({ [manifestProperty]: { type: 'Int32', value: 1 } }), /Int32/);
    assert.equal(manifestOf({}), undefined);
  });
});
