import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { reloadedNames } from '../../app/options/check.js';
import { changesOf } from './settings.js';

describe('settings that a running server can change', () => {
  it('are those of all options that are marked so', () => {
    const changes = changesOf({
      accounts: [],
      options: { inMemory: true, tls: 'self-signed' },
    });
    assert.deepEqual(Object.keys(changes).toSorted(), reloadedNames.toSorted());
  });
});
