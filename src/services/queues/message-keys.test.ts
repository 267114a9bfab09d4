import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { hex, internalsPage } from '../../../test/support/shown-bytes.js';
import { compareBytes } from '../../base/bytes.js';
import { partitionPrefixLength } from '../../kv/partition-prefix.js';
import { containerPrefix } from '../containers/keys.js';
import { neverMicros } from './limits.js';
import { parseMessageId } from './message-id.js';
import { MessageKeys } from './message-keys.js';

const keys = new MessageKeys(containerPrefix('queue', 'acct', 7));
const someId = parseMessageId('019aa9c8-3c00-7000-8000-000123456789') ?? Buffer.alloc(0);
const moments = fc.nat({ max: 4_000_000_000_000_000 });
const ids = fc.uint8Array({ minLength: 16, maxLength: 16 }).map((bytes) => Buffer.from(bytes));

describe('keys of messages', () => {
  it('are the ones that the page on them shows', () => {
    const page = internalsPage('queue-keys.md');
    const rows = [...page.matchAll(/^\| (\w+) +\| `((?:[0-9a-f]{2} ?)+)` +\|$/gm)];
    const shown = rows.map(([, what, bytes = '']) => [what, bytes.replaceAll(' ', '')]);
    assert.deepEqual(shown, [
      ['count', hex(keys.count)],
      ['text', hex(keys.text(someId))],
      ['state', hex(keys.visibility(256, someId))],
      ['expiry', hex(keys.expiry(65_536, someId))],
    ]);
  });

  it('order states by the moment they are visible, then by id', () => {
    fc.assert(
      fc.property(moments, ids, moments, ids, (moment, id, otherMoment, otherId) => {
        const order = compareBytes(
          keys.visibility(moment, id),
          keys.visibility(otherMoment, otherId),
        );
        const wanted = Math.sign(moment - otherMoment) || Math.sign(compareBytes(id, otherId));
        assert.equal(Math.sign(order), wanted);
      }),
    );
  });

  it('put into the visible range what is visible at that moment, and nothing later', () => {
    fc.assert(
      fc.property(moments, ids, fc.integer({ min: -2, max: 2 }), (now, id, step) => {
        const range = keys.visibleAt(now);
        const key = keys.visibility(Math.max(0, now + step), id);
        const isInside =
          compareBytes(key, range.start) >= 0 && compareBytes(key, range.end ?? key) < 0;
        assert.equal(isInside, Math.max(0, now + step) <= now);
      }),
    );
  });

  it('tell moment and id, and lie in one partition', () => {
    fc.assert(
      fc.property(moments, ids, (micros, id) => {
        const all = [keys.visibility(micros, id), keys.expiry(micros, id)];
        for (const key of all) assert.deepEqual(keys.read(key), { micros, id });
        const prefixes = [...all, keys.text(id), keys.count].map((key) =>
          hex(key.subarray(0, partitionPrefixLength(key))),
        );
        assert.equal(new Set(prefixes).size, 1);
      }),
    );
  });

  it('have a place for a message that never expires, behind all that do', () => {
    const never = keys.expiry(neverMicros, someId);
    assert.ok(compareBytes(never, keys.expiry(9_000_000_000_000_000, someId)) > 0);
  });
});
