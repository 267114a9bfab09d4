import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Config } from '../config/config-file.js';
import { heldConfig } from './held-config.js';

const members = ['location', 'blobs.maxBlockMiB', 'tables.port'];

function held(config: Config, next: Config): unknown {
  return heldConfig(config, next, members);
}

describe('the configuration that holds until a restart', () => {
  it('has the former values of members that need a restart, and the new values of all others', () => {
    const before = { location: 'a', throttle: 'off', blobs: { maxBlockMiB: 1, versioning: false } };
    const next = { location: 'b', throttle: 'on', blobs: { maxBlockMiB: 2, versioning: true } };
    assert.deepEqual(held(before, next), {
      location: 'a',
      throttle: 'on',
      blobs: { maxBlockMiB: 1, versioning: true },
    });
    assert.equal(next.blobs.maxBlockMiB, 2, 'changes nothing in place');
  });

  it('keeps members that need a restart when they are removed, and ignores those that are added', () => {
    const before = { location: 'a', tables: { port: 1 } };
    assert.deepEqual(held(before, { blobs: { maxBlockMiB: 2 } }), { ...before, blobs: {} });
    assert.deepEqual(held({}, before), { tables: {} });
  });
});
