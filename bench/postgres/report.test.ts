import assert from 'node:assert/strict';
import { it } from 'node:test';
import { comparison } from './report.js';

void it('compares the engine with the driver by neighbouring turns', () => {
  const table = comparison([
    { kind: 'get', engine: 50, driver: 100 },
    { kind: 'get', engine: 900, driver: 1_000 },
    { kind: 'get', engine: 40, driver: 50 },
  ]);
  assert.deepEqual(table.split('\n').slice(2), ['| point reads | 50 | 100 | 0.8 | 0.8 |']);
});
