import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { lmdbUnderTest } from '../../../test/support/engine-lmdb.js';
import { withLateGuards } from '../../../test/support/late-guards.js';
import { failuresOf } from '../../base/conformance/failures.js';
import { guardsConformance } from '../../kv/conformance/members.js';
import { costly } from '../../../test/support/run-length.js';

describe('the conformance suite', () => {
  it(
    'catches writers in other processes whose guards a fence does not stop',
    costly(),
    async () => {
      const failed = await failuresOf(guardsConformance, {
        name: 'LMDB with late guards',
        async open(options) {
          const opened = await lmdbUnderTest({ ...options, childWrites: 'with late guards' });
          return { ...opened, store: withLateGuards(opened.store) };
        },
        capabilities: {
          persistent: true,
          processes: true,
          groupsCommits: true,
          versionsGlobal: true,
          member: true,
        },
      });
      assert.deepEqual(failed, ['lets no guarded commit through behind a fence, whoever writes']);
    },
  );
});
