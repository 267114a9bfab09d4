import assert from 'node:assert/strict';
import { it } from 'node:test';
import { byteText } from './byte-text.js';

void it('a number of bytes is told in the unit that people read', () => {
  const cases: [number, string][] = [
    [0, '0 bytes'],
    [1, '1 byte'],
    [1_023, '1,023 bytes'],
    [1_536, '1.5 KiB'],
    [3 * 2 ** 30, '3 GiB'],
    [5_000 * 2 ** 40, '5,000 TiB'],
  ];
  for (const [bytes, text] of cases) assert.equal(byteText(bytes), text);
});
