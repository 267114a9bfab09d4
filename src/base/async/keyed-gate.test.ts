import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { KeyedGate } from './keyed-gate.js';
import { nextTurn } from './turns.js';
import { deferred } from './deferred.js';

describe('a gate of keys', () => {
  it('runs tasks of one key one after the other, in order of arrival', async () => {
    const gate = new KeyedGate();
    const seen: string[] = [];
    const task = (name: string) => async () => {
      seen.push(`${name} begins`);
      await nextTurn();
      seen.push(`${name} ends`);
    };
    await Promise.all(['a', 'b', 'c'].map((name) => gate.run('key', task(name))));
    assert.deepEqual(
      seen,
      ['a', 'b', 'c'].flatMap((name) => [`${name} begins`, `${name} ends`]),
    );
  });

  it('runs tasks of different keys beside each other', async () => {
    const gate = new KeyedGate();
    const { promise: opened, resolve: open } = deferred();
    const waiting = gate.run('a', () => opened);
    await gate.run('b', async () => open());
    await waiting;
  });

  it('goes on after a task that failed, and keeps nothing of a key without tasks', async () => {
    const gate = new KeyedGate();
    const failed = gate.run('key', () => Promise.reject(new Error('fails')));
    const after = gate.run('key', async () => 'runs');
    assert.equal(gate.keys, 1);
    await assert.rejects(failed, /fails/);
    assert.equal(await after, 'runs');
    assert.equal(gate.keys, 0);
  });
});
