import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { temporaryLocation } from '../../test/support/engine-lmdb.js';
import { systemTimers } from '../base/async/timers.js';
import { systemClock, type Clock } from '../base/clock.js';
import { forwardClock } from '../base/forward-clock.js';
import { systemRandomness } from '../base/randomness.js';
import { silentLogger, type Logger } from '../http/exchange/logger.js';
import { openEngine } from './open-engine.js';

/** A clock that is read about twice a second. */
function steppingClock(): Clock {
  let readings = 0;
  return {
    nowMicros: () => systemClock.nowMicros(),
    monotonicMs() {
      readings += 1;
      return 600 * readings;
    },
  };
}

describe('a start that finds many former journals', () => {
  it('logs how many files it has read, not for each of them', async (t) => {
    const { directory, remove } = await temporaryLocation();
    t.after(remove);
    const told: unknown[] = [];
    const logger: Logger = {
      ...silentLogger,
      info: (message, fields) => {
        if (message === 'reading the journal') told.push(fields);
      },
    };
    const open = () =>
      openEngine(
        {
          storage: { kind: 'directory', directory },
          clock: steppingClock(),
          storageClock: forwardClock(systemClock),
          timers: systemTimers,
          randomness: systemRandomness,
          durability: 'durable',
          journal: 'on',
          logger,
          onFatal: (error) => assert.fail(error),
        },
        'exclusive',
      );
    await (await open()).close();
    assert.equal(told.length, 0);
    const openings = 9;
    for (let opening = 1; opening <= openings; opening += 1) {
      const folder = join(directory, 'journal', `${opening}.old`);
      await mkdir(folder, { recursive: true });
      await writeFile(join(folder, '000001'), Buffer.alloc(8_192));
    }
    await (await open()).close();
    const first = told[0];
    assert.ok(told.length > 0 && told.length < openings, `${told.length} lines`);
    assert.ok(typeof first === 'object' && first !== null && 'files' in first);
    assert.deepEqual(first, { files: first.files, openings });
  });
});
