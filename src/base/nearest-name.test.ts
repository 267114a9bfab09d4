import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { nearestName } from './nearest-name.js';

const known = ['durability', 'accounts', 'host', 'tables', 'inMemory'];

describe('the name that was probably meant', () => {
  for (const [given, meant] of [
    ['durabilty', 'durability'],
    ['durablity', 'durability'],
    ['acounts', 'accounts'],
    ['hots', 'host'],
    ['table', 'tables'],
    ['inmemory', 'inMemory'],
    ['TABLES', 'tables'],
  ] as const) {
    it(`is ${meant} for ${given}`, () => {
      assert.equal(nearestName(given, known), meant);
    });
  }

  for (const given of ['', 'x', 'queue', 'certificate', 'h'.repeat(100_000)]) {
    it(`is none for ${given.slice(0, 20) || 'nothing'}`, () => {
      assert.equal(nearestName(given, known), undefined);
    });
  }
});
