import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertShowsTuples } from '../../../test/support/shown-bytes.js';
import type { Bytes } from '../../base/bytes.js';
import { appendString } from '../../kv/tuple.js';
import {
  accountOfKey,
  containerIdKey,
  containerNameKey,
  containerPrefix,
  droppedContainerKey,
  droppedContainersPrefix,
  droppedIdOfKey,
  deletedContainerKey,
  reservedNameKey,
  servicePropertiesKey,
} from './keys.js';

const written: Readonly<Record<string, Bytes>> = {
  'next container id': containerIdKey('table', 'acct'),
  'directory entry': containerNameKey('table', 'acct', 'people'),
  'dropped container': droppedContainerKey('table', 'acct', 7),
  'service properties': servicePropertiesKey('table', 'acct'),
  'held name': reservedNameKey('table', 'acct', 'people'),
  'kept container': deletedContainerKey('table', 'acct', { identity: 'people', id: 7 }),
  'what it holds': appendString(containerPrefix('table', 'acct', 7), 'London'),
};

describe('the page on the keys of containers', () => {
  it('shows the bytes that are really written', () => {
    assertShowsTuples('container-keys.md', written);
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
