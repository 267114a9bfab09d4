import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import type { Bytes } from '../../base/bytes.js';
import { appendString, encodeTuple, type TupleElement } from '../../kv/tuple.js';
import {
  accountOfKey,
  containerIdKey,
  containerNameKey,
  containerPrefix,
  droppedContainerKey,
  droppedContainersPrefix,
  droppedIdOfKey,
  servicePropertiesKey,
} from './keys.js';

const page = new URL('../../../../docs/internals/container-keys.md', import.meta.url);

const written: Readonly<Record<string, Bytes>> = {
  'next container id': containerIdKey('table', 'acct'),
  'directory entry': containerNameKey('table', 'acct', 'people'),
  'dropped container': droppedContainerKey('table', 'acct', 7),
  'service properties': servicePropertiesKey('table', 'acct'),
  'what it holds': appendString(containerPrefix('table', 'acct', 7), 'London'),
};

const hex = (bytes: Bytes) => Buffer.from(bytes).toString('hex');

describe('the page on the keys of containers', () => {
  it('shows the bytes that are really written', () => {
    const row = /^\| ([a-z ]+?) +\| `(\[.*\])` +\| `([0-9a-f ]+)` +\|$/gm;
    const shown = [...readFileSync(page, 'utf8').matchAll(row)];
    assert.deepEqual(
      shown.map(([, what]) => what),
      Object.keys(written),
    );
    for (const [, what = '', tuple = '', bytes = ''] of shown) {
      const expected = bytes.replaceAll(' ', '');
      assert.equal(hex(written[what] ?? Buffer.alloc(0)), expected, what);
      assert.equal(hex(encodeTuple(JSON.parse(tuple) as TupleElement[])), expected, what);
    }
  });
});

describe('a key of a service', () => {
  it('names its account', () => {
    for (const [what, key] of Object.entries(written)) {
      assert.equal(accountOfKey(key), 'acct', what);
    }
  });

  it('of the dropped list gives back the id', () => {
    for (const id of [1, 255, 256, Number.MAX_SAFE_INTEGER]) {
      const key = droppedContainerKey('queue', 'acct', id);
      assert.equal(droppedIdOfKey(key, droppedContainersPrefix('queue', 'acct')), id);
    }
  });
});
