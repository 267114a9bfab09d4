import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseBlobInclude, parseContainerInclude } from './list-include.js';

const version = '2021-12-02';
const refused = { code: 'InvalidQueryParameterValue' };

describe('the include parameter of a list', () => {
  it('is a list of words in any case, perhaps empty', () => {
    const blobs = (text: string | undefined) => [...parseBlobInclude(text, version, undefined)];
    assert.deepEqual(blobs(undefined), []);
    assert.deepEqual(blobs(''), []);
    assert.deepEqual(blobs('Metadata,snapshots,,METADATA, tags'), [
      'metadata',
      'snapshots',
      'tags',
    ]);
    assert.deepEqual(
      [...parseContainerInclude('metadata,system', version)],
      ['metadata', 'system'],
    );
  });

  it('is refused when the version does not have it', () => {
    for (const text of ['x', 'metadata;copy', 'constructor', 'metadata,x']) {
      assert.throws(() => parseBlobInclude(text, version, undefined), refused);
      assert.throws(() => parseContainerInclude(text, version), refused);
    }
    assert.throws(() => parseBlobInclude('tags', '2019-07-07', undefined), refused);
    assert.ok(parseBlobInclude('tags', '2019-12-12', undefined).has('tags'));
    assert.ok(parseContainerInclude('deleted', '2020-02-10').has('deleted'));
    assert.throws(() => parseContainerInclude('deleted', '2019-12-12'), refused);
    assert.throws(() => parseContainerInclude('copy', version), refused);
  });

  it('has no snapshots with a delimiter', () => {
    assert.throws(() => parseBlobInclude('snapshots', version, '/'), refused);
    assert.ok(parseBlobInclude('versions,deleted', version, '/').has('versions'));
  });
});
