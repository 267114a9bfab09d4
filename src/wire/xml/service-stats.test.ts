import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { renderServiceStats } from './service-stats.js';

const head = '<?xml version="1.0" encoding="utf-8"?><StorageServiceStats><GeoReplication>';
const tail = '</GeoReplication></StorageServiceStats>';

describe('renderServiceStats', () => {
  it('says until when the secondary has everything', () => {
    const lastSyncMicros = Date.parse('2017-09-18T00:00:00Z') * 1000 + 1;
    assert.equal(
      renderServiceStats({ status: 'live', lastSyncMicros }).toString(),
      `${head}<Status>live</Status><LastSyncTime>Mon, 18 Sep 2017 00:00:00 GMT</LastSyncTime>${tail}`,
    );
  });

  it('leaves the time empty unless live', () => {
    for (const status of ['bootstrap', 'unavailable'] as const) {
      assert.equal(
        renderServiceStats({ status, lastSyncMicros: 0 }).toString(),
        `${head}<Status>${status}</Status><LastSyncTime />${tail}`,
      );
    }
  });
});
