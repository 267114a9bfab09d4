import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { before, keptUntil, type Retention } from './period.js';
import { isoOfTicks, ticksOfIso } from './ticks.js';

const ticks = (iso: string): bigint => ticksOfIso(iso) ?? 0n;

describe('how long something is kept', () => {
  it('ends at the first moment from which on it is before what is kept', () => {
    const retentions: readonly Retention[] = [
      { hours: 36 },
      { days: 30 },
      { months: 1 },
      { months: 13 },
    ];
    for (const keep of retentions) {
      for (const day of ['2023-01-31', '2024-01-30', '2024-02-29', '2024-12-01', '2024-03-31']) {
        const moment = ticks(`${day}T06:00:00Z`);
        const end = keptUntil(keep, moment);
        const name = `${JSON.stringify(keep)} ${day} ${isoOfTicks(end)}`;
        assert.ok(before(keep, end) >= moment, name);
        assert.ok(before(keep, end - 1n) < moment, name);
      }
    }
  });
});
