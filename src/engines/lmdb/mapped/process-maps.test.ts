import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { mapAt, mapOfFile } from './process-maps.js';

describe('the maps of a process', () => {
  it('are none of a file that is not mapped or not there, and none at an address of no file', () => {
    const folder = mkdtempSync(join(tmpdir(), 'tabularium-maps-'));
    try {
      const path = join(folder, 'a file');
      writeFileSync(path, 'content');
      assert.equal(mapOfFile(path), undefined);
      assert.equal(mapOfFile(join(folder, 'no file')), undefined);
      assert.equal(mapAt(0), undefined);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it(
    'have the program itself where the system tells them',
    { skip: process.platform !== 'linux' },
    () => {
      const map = mapOfFile(process.execPath);
      assert.ok(map !== undefined && map.bytes > 0);
      assert.deepEqual(mapAt(map.address + 1), map);
    },
  );
});
