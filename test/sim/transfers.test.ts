import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { byLength, costly } from '../support/run-length.js';
import { systemClock } from '../../src/base/clock.js';
import { openLmdbStore } from '../../src/engines/lmdb/store.js';
import { TableService } from '../../src/services/tables/table-service.js';
import { temporaryLocation } from '../support/engine-lmdb.js';
import { SimRandom } from '../support/sim-random.js';
import { numberSetting, seedSetting } from '../support/sim-settings.js';
import {
  auditBank,
  openBank,
  runTransfers,
  type TransferOutcome,
} from '../support/sim-transfers.js';

const child = fileURLToPath(new URL('../support/sim-transfer-child.js', import.meta.url));
const seed = seedSetting('TABULARIUM_SIM_SEED');
const transfers = numberSetting('TABULARIUM_SIM_TRANSFERS', byLength({ short: 100, long: 1000 }));
const processes = 3;

async function transfersElsewhere(directory: string, childSeed: number): Promise<TransferOutcome> {
  const forked = fork(child, [directory, String(childSeed), String(transfers)]);
  const outcome = once(forked, 'message') as Promise<[TransferOutcome]>;
  const died = once(forked, 'exit').then(([code]) => {
    throw new Error(`the process ended with ${code} before it was done`);
  });
  return (await Promise.race([outcome, died]))[0];
}

it(
  `keeps a sum whole across processes that write groups side by side (seed ${seed})`,
  costly(),
  async () => {
    const { directory, remove } = await temporaryLocation();
    const store = await openLmdbStore({ directory, clock: systemClock });
    const service = new TableService({ store, clock: systemClock });
    try {
      await openBank(service);
      const outcomes = await Promise.all([
        runTransfers(service, new SimRandom(seed), transfers),
        ...Array.from({ length: processes }, (_, index) =>
          transfersElsewhere(directory, seed + index + 1),
        ),
      ]);
      assert.deepEqual(
        outcomes.flatMap(({ violations }) => violations),
        [],
      );
      assert.deepEqual(await auditBank(service), []);
      const moved = outcomes.reduce((sum, outcome) => sum + outcome.moved, 0);
      const refused = outcomes.reduce((sum, outcome) => sum + outcome.refused, 0);
      assert.equal(moved + refused, transfers * (processes + 1));
      assert.ok(moved > 0 && refused > 0, 'some moves happened and some met one another');
    } finally {
      await store.close();
      await remove();
    }
  },
);
