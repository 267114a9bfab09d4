import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { InvalidSettingError } from '../../base/invalid-setting-error.js';
import { systemRandomness, type Randomness } from '../../base/randomness.js';
import { systemTimers } from '../../base/async/timers.js';
import { chanceOf, seededChance } from './chance.js';
import { FaultInjector } from './injector.js';

const operations = ['InsertEntity', 'GetEntity'];
const reset = { kind: 'reset' } as const;

function injector(randomness: Randomness = systemRandomness): FaultInjector {
  return new FaultInjector({ randomness, timers: systemTimers, operations });
}

describe('the fault rules of a server', () => {
  it('cost nothing as long as there are none', () => {
    const faults = injector();
    assert.equal(faults.isActive, false);
    faults.add({ effect: reset });
    assert.equal(faults.isActive, true);
    faults.clear();
    assert.equal(faults.isActive, false);
  });

  it('get names of their own', () => {
    const faults = injector();
    faults.replace([{ name: 'fault-2', effect: reset }, { effect: reset }]);
    faults.add({ effect: reset });
    const names = faults.list().map(({ name }) => name);
    assert.equal(new Set(names).size, 3);
    assert.deepEqual([names[0], faults.list()[0]?.rule.name], ['fault-2', 'fault-2']);
  });

  it('change all together or not at all', () => {
    const faults = injector();
    faults.add({ name: 'kept', effect: reset });
    const bad = [{ effect: reset }, { operation: 'Nothing', effect: reset }];
    assert.throws(() => faults.replace(bad), /faults\[1\]\.operation/);
    const twice = [
      { name: 'same', effect: reset },
      { name: 'same', effect: reset },
    ];
    assert.throws(() => faults.replace(twice), InvalidSettingError);
    assert.throws(() => faults.add({ name: 'kept', effect: reset }), /two fault rules/);
    assert.deepEqual(
      faults.list().map(({ name }) => name),
      ['kept'],
    );
  });

  it('are bounded', () => {
    const many = Array.from({ length: 1001 }, () => ({ effect: reset }));
    assert.throws(() => injector().replace(many), /at most 1000/);
  });

  it('can be taken away one by one', () => {
    const faults = injector();
    faults.replace([
      { name: 'a', effect: reset },
      { name: 'b', effect: reset },
    ]);
    assert.equal(faults.remove('a'), true);
    assert.equal(faults.remove('a'), false);
    assert.deepEqual(
      faults.list().map(({ name }) => name),
      ['b'],
    );
  });
});

describe('chance', () => {
  it('is the same for the same seed, and spread evenly', () => {
    const take = (seed: number) => {
      const chance = seededChance(seed);
      return Array.from({ length: 1000 }, chance);
    };
    const fractions = take(7);
    assert.deepEqual(take(7), fractions);
    assert.notDeepEqual(take(8), fractions);
    assert.ok(fractions.every((fraction) => fraction >= 0 && fraction < 1));
    const below = fractions.filter((fraction) => fraction < 0.25).length;
    assert.ok(below > 200 && below < 300, String(below));
  });

  it('comes from the source of randomness otherwise', () => {
    const bytes = (...values: number[]): Randomness => ({
      ...systemRandomness,
      bytes: () => Buffer.from(values),
    });
    assert.equal(chanceOf(bytes(0, 0, 0, 0))(), 0);
    assert.equal(chanceOf(bytes(128, 0, 0, 0))(), 0.5);
    assert.ok(chanceOf(bytes(255, 255, 255, 255))() < 1);
  });
});
