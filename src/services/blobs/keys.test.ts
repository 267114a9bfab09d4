import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { hex, internalsPage } from '../../../test/support/shown-bytes.js';
import { compareBytes, equalBytes, startsWith, type Bytes } from '../../base/bytes.js';
import { isStoreKey, partitionPrefixLength } from '../../kv/partition-prefix.js';
import { keyBytesMax } from '../../kv/store.js';
import { containerPrefix } from '../containers/keys.js';
import { encodeBlobRecord, newBlobDraft } from './blob-record.js';
import {
  afterBlob,
  blobKind,
  BlobKeys,
  blobNameOfKey,
  containerOfKey,
  dueHintKey,
  dueHints,
  extentGarbageKey,
  keysOfPartition,
  kindOfKey,
  readDueHint,
  readGarbageKey,
  tagHintKey,
} from './keys.js';
import { encodePageRange } from './page-range.js';
import { encodeBlock, encodeSegments } from './segments.js';

const container = containerPrefix('blob', 'acct', 7);
const keys = new BlobKeys(container, 'a/b');
const id = Buffer.from('0a0b0c0d0e0f101112131415', 'hex');
const blockId = Buffer.from('block1');
const extent = 'e-1';

const written: Readonly<Record<string, Bytes>> = {
  blob: keys.base,
  version: keys.version(65_536),
  'uncommitted block': keys.block(id, blockId),
  chunk: keys.chunk(id, 256),
  'page range': keys.page(id, 512, 1),
  'inline piece': keys.inlinePiece(id),
  'references to a piece': keys.pieceReferences({ kind: 'extent', id: extent }),
  'references to a content': keys.contentReferences(id),
  'count of blocks': keys.blockCount(id),
  'tag hint': tagHintKey(container, 'k', 'v', 'a/b'),
  'due hint': dueHintKey(container, 65_536, 'a/b'),
  'garbage: group': keys.groupGarbage(blobKind.chunk, id),
  'garbage: pieces': keys.pieceGarbage(id, 3),
  'garbage: extents': extentGarbageKey(id),
  'garbage: page map': keys.mapGarbage(id),
  'value: blob': encodeBlobRecord({
    ...newBlobDraft('block'),
    bytes: 5,
    content: {
      id,
      isChunked: false,
      tail: [{ blockId, bytes: 5, piece: { kind: 'extent', id: extent } }],
    },
  }),
  'value: page range': encodePageRange({
    offset: 512,
    bytes: 512,
    piece: { kind: 'extent', id: extent },
    pieceStart: 1,
    writtenIn: 1,
    from: 2,
    until: 3,
  }),
  'value: block': encodeBlock({ bytes: 5, piece: { kind: 'extent', id: extent } }),
  'value: chunk': encodeSegments([{ blockId: undefined, bytes: 5, piece: { kind: 'inline', id } }]),
};

const names = fc.string({ unit: 'binary', minLength: 1, maxLength: 6 });

describe('keys of blobs', () => {
  it('are the ones that the page on them shows', () => {
    const page = internalsPage('blob-keys.md');
    const rows = [...page.matchAll(/^\| ([a-z: ]+?) +\| `((?:[0-9a-f]{2} ?)+)` +\|$/gm)];
    const shown = rows.map(([, what, bytes = '']) => [what, bytes.replaceAll(' ', '')]);
    assert.deepEqual(
      shown,
      Object.entries(written).map(([what, bytes]) => [what, hex(bytes)]),
    );
  });

  it('lie in one partition, and tell kind, name and container', () => {
    const ofBlob = Object.entries(written).filter(([what]) => !/garbage|hint|value/.test(what));
    for (const [index, [what, key]] of ofBlob.entries()) {
      assert.ok(equalBytes(key.subarray(0, partitionPrefixLength(key)), keys.partition), what);
      assert.equal(kindOfKey(key), index, what);
      assert.equal(blobNameOfKey(key, container), 'a/b');
      assert.ok(equalBytes(containerOfKey(key), container), what);
    }
    assert.equal(kindOfKey(tagHintKey(container, 'k', 'v', 'a/b')), undefined);
  });

  it('give back what they were made of', () => {
    assert.deepEqual(keys.blockIdOf(keys.block(id, blockId)), blockId);
    assert.equal(keys.offsetOf(keys.chunk(id, 256)), 256);
    assert.deepEqual(readDueHint(dueHintKey(container, 9, 'a\0b'), container), {
      micros: 9,
      name: 'a\0b',
    });
    const group = readGarbageKey(keys.groupGarbage(blobKind.block, id));
    const { partition } = keys;
    assert.deepEqual(group, {
      kind: 'group',
      partition: Buffer.from(partition),
      group: blobKind.block,
      id,
    });
    assert.equal(readGarbageKey(keys.pieceGarbage(id, 3)).kind, 'pieces');
    assert.equal(readGarbageKey(extentGarbageKey(id)).kind, 'extents');
    assert.ok(equalBytes(keysOfPartition(partition).base, keys.base));
  });

  it('fit into the store, whatever the name and the block id', () => {
    for (const letter of ['\0', '\x01', '\uffff', '\ud83d\udc4d']) {
      const name = letter.repeat(1024 / letter.length);
      const longest = new BlobKeys(containerPrefix('blob', 'a'.repeat(24), 2 ** 40), name);
      const block = longest.block(id, Buffer.alloc(64, 1));
      const prefix = containerPrefix('blob', 'a'.repeat(24), 2 ** 40);
      const hint = tagHintKey(prefix, 'k'.repeat(128), 'v'.repeat(256), name);
      const garbage = longest.groupGarbage(blobKind.chunk, Buffer.alloc(12, 1));
      for (const key of [block, hint, garbage]) assert.ok(key.length <= keyBytesMax);
      assert.ok(isStoreKey(garbage));
    }
  });

  it('let a listing go behind a blob, and no further', () => {
    fc.assert(
      fc.property(names, names, (name, other) => {
        const after = afterBlob(container, name);
        const [own, others] = [new BlobKeys(container, name), new BlobKeys(container, other)];
        assert.ok(compareBytes(own.blockCount(id), after) < 0);
        assert.equal(compareBytes(others.base, after) >= 0, other > name);
        assert.equal(startsWith(others.base, own.partition), other === name);
      }),
    );
  });

  it('put into the due hints of a moment what is due by then', () => {
    const range = dueHints(container, 10);
    const isIn = (micros: number) => {
      const key = dueHintKey(container, micros, 'b');
      return compareBytes(key, range.start) >= 0 && compareBytes(key, range.end ?? key) < 0;
    };
    assert.deepEqual([0, 9, 10, 11, 256].map(isIn), [true, true, true, false, false]);
  });
});
