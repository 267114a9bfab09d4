import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { manualClock } from '../../base/clock.js';
import { systemRandomness } from '../../base/randomness.js';
import { compareBytes } from '../../base/bytes.js';
import { formatMessageId, MessageIds, parseMessageId } from './message-id.js';

describe('message ids', () => {
  it('rise strictly while the clock stands still, and when it steps back', () => {
    const clock = manualClock();
    const ids = new MessageIds(clock, systemRandomness);
    let before = ids.next();
    for (let round = 0; round < 20_000; round += 1) {
      if (round % 5000 === 4999) clock.advanceMicros(-60_000_000);
      const id = ids.next();
      assert.ok(compareBytes(before, id) < 0, `${formatMessageId(before)}, ${formatMessageId(id)}`);
      before = id;
    }
  });

  it('are version 7 UUIDs that carry the time of their making', () => {
    const clock = manualClock(1_700_000_000_123_000);
    const text = formatMessageId(new MessageIds(clock, systemRandomness).next());
    assert.match(text, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    assert.equal(parseInt(text.slice(0, 8) + text.slice(9, 13), 16), 1_700_000_000_123);
  });

  it('of two sources differ under one clock', () => {
    const clock = manualClock();
    const sources = Array.from({ length: 50 }, () => new MessageIds(clock, systemRandomness));
    const ids = sources.flatMap((source) => Array.from({ length: 20 }, () => source.next()));
    assert.equal(new Set(ids.map(formatMessageId)).size, ids.length);
  });

  it('are read whatever the case of their digits, and nothing else is', () => {
    const id = new MessageIds(manualClock(), systemRandomness).next();
    const text = formatMessageId(id);
    assert.deepEqual(parseMessageId(text), id);
    assert.deepEqual(parseMessageId(text.toUpperCase()), id);
    for (const wrong of [
      '',
      'x',
      text.slice(1),
      `${text}0`,
      `{${text}}`,
      text.replaceAll('-', ''),
    ]) {
      assert.equal(parseMessageId(wrong), undefined, wrong);
    }
  });
});
