import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createServer } from '../../app/index.js';
import { temporaryLocation } from '../../../test/support/engine-lmdb.js';
import { ServerProcess, StartFailure } from '../../../test/support/crash-server.js';
import {
  Faults,
  syncCalls,
  writeCalls,
  type FaultRule,
} from '../../../test/support/faults/faults.js';
import { withoutFaults } from '../../../test/support/faults/shim.js';
import { byLength, costly, drawn, sampled } from '../../../test/support/run-length.js';

/** More calls than a start makes. */
const callsMax = 30;
/** From one call that fails to the next one. */
const step = byLength({ short: 5, long: 1 });

/** Starts the program on a new directory under the rule; returns how it ended, if it did. */
async function startUnder(faults: Faults, rule: FaultRule): Promise<StartFailure | undefined> {
  const { directory, remove } = await temporaryLocation();
  faults.set(rule);
  try {
    const server = await ServerProcess.start(directory, { env: faults.env });
    await server.end('SIGKILL');
    return undefined;
  } catch (error) {
    if (!(error instanceof StartFailure)) throw error;
    faults.clear();
    const again = await createServer({ location: directory, tablePort: 0, queuePort: 0 });
    await again.close();
    return error;
  } finally {
    await remove();
  }
}

describe('the first start on a directory', () => {
  for (const calls of sampled([writeCalls, syncCalls, ['ftruncate'] as const], 1)) {
    it(
      `says what the disk did when any ${calls.join(' or ')} fails, and starts afterwards`,
      costly(withoutFaults),
      async () => {
        await using faults = await Faults.make();
        for (let after = drawn(step); ; after += step) {
          assert.ok(after < callsMax);
          const action = { kind: 'fail', error: 'EIO' } as const;
          const failure = await startUnder(faults, { calls, path: 'data.mdb', action, after });
          if (failure === undefined) break;
          const { code, signal, output } = failure.exit;
          // A store that has failed ends its process itself.
          const isClear = signal === null && (code === 1 || code === 74);
          assert.ok(isClear, `${code} ${signal} ${output}`);
          assert.match(
            output,
            /^error: The data directory .* cannot be used: .*EIO.*Make room there, or.*Then start/m,
          );
          assert.doesNotMatch(output, /commitError|unexpected error/);
        }
      },
    );
  }
});
