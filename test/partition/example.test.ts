import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { spread } from '../../examples/scaling/spread.js';
import { CliProcess } from '../support/cli-process.js';
import { costly, isLong } from '../support/run-length.js';

/** Cities of forty countries, without an end. */
function* rows(): Generator<{ partitionKey: string; rowKey: string }> {
  for (let count = 0; ; count += 1) {
    const country = String.fromCharCode(65 + (count % 5), 65 + (count % 8));
    yield { partitionKey: country, rowKey: String(count) };
  }
}

void describe('the tutorial of several stores', costly(), () => {
  void it('spreads a table that is written, and loses nothing', async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'tabularium-scaling-'));
    t.after(() => rm(folder, { recursive: true, force: true }));
    const told: string[] = [];
    const tell = (text: string): void => void told.push(text);
    const form = isLong ? { growMs: 5_000, kills: true } : { growMs: 0, kills: false };
    const { wrong, acknowledged, stores } = await spread({ folder, rows: rows(), tell, ...form });
    assert.ok(acknowledged >= 400, told.join('\n'));
    assert.equal(wrong, 0, told.join('\n'));
    assert.deepEqual(stores.toSorted().slice(0, 2), isLong ? ['c', 'c'] : ['b', 'c']);
    assert.ok(told.includes('Map and stores agree.'), told.join('\n'));
    const config = join(folder, 'tabularium.json');
    const words = ['partition', 'move', '999', '--to', 'b', '--config', config];
    const refused = await new CliProcess(words).result;
    assert.equal(refused.code, 2, refused.stderr);
    assert.match(refused.stderr, /^error: There is no range 999/);
  });
});
