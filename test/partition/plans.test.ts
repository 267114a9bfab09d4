import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { manualClock } from '../../src/base/clock.js';
import { openPartitions, type OpenPartitions } from '../../src/app/open-partitions.js';
import { Partitions } from '../../src/app/partition-control.js';
import { settingsOf } from '../../src/app/settings.js';
import { silentLogger, type LogFields } from '../../src/http/exchange/logger.js';
import { partitionPrefix } from '../../src/kv/partition-prefix.js';
import { appendString } from '../../src/kv/tuple.js';

/** Two stores in memory, under a clock that the test moves. */
async function opened() {
  const clock = manualClock();
  const told: LogFields[] = [];
  const logger = {
    ...silentLogger,
    info: (_: string, fields: LogFields = {}) => told.push(fields),
  };
  const settings = settingsOf({ inMemory: true, stores: { b: { inMemory: true } }, clock, logger });
  const { stores = {} } = settings;
  const open = await openPartitions({ ...settings, stores }, 'exclusive');
  /** Calls of the partitions of a table, more in a second than leave the stores alone. */
  const load = async () => {
    for (let call = 0; call < 3_000; call += 1) {
      const partition = partitionPrefix('table', 'account', 2, `p${(call * 7) % 32}`);
      await open.get(appendString(partition, 'row'));
    }
    clock.advanceMicros(15_000_000);
    await open.balancer.publish();
  };
  return { open, told, load };
}

function splitOf(open: OpenPartitions) {
  const { operations = [] } = open.balancer.last ?? {};
  return operations.map(({ kind }) => kind);
}

void describe('a plan for the ranges of a server', () => {
  void it('is told in the log with what its operations would do', async () => {
    const { open, told, load } = await opened();
    await open.balancer.round();
    await load();
    await open.balancer.round();
    assert.deepEqual(splitOf(open), ['split']);
    const [last] = told.slice(-1);
    assert.match(String(last?.['operations']), /^split range 2 at table\/account\/#2\/p\d+$/);
    assert.equal(last?.['mode'], 'advise');
    await open.close();
  });

  void it('is made for people whose process has made none before', async () => {
    const { open, load } = await opened();
    const control = new Partitions(open);
    const first = await control.balance(true);
    assert.deepEqual([first.measuredMs, first.neededMs], [0, 15_000]);
    await load();
    const second = await control.balance(false);
    assert.match(second.operations.join(), /^split range 2 at table\/account\/#2\/p\d+$/);
    assert.equal(second.begun.length, 1);
    await open.operationRunner.idle();
    assert.equal((await open.catalogue.map()).ranges.length, 3);
    await open.close();
  });
});
