import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { InvalidSettingError, Members, shownValue } from './members.js';

describe('members of an object from outside', () => {
  it('are refused by name whatever their value is: also one that has no JSON', () => {
    const cyclic: Record<string, unknown> = {};
    cyclic['self'] = cyclic;
    let deep: unknown = 1;
    for (let depth = 0; depth < 100_000; depth += 1) deep = [deep];
    for (const value of [cyclic, deep, 1n, Symbol('x'), () => 1, undefined]) {
      const rule = new Members('rule', { name: value }, ['name']);
      assert.ok(rule.wrong('name', 'a text') instanceof InvalidSettingError);
      assert.throws(() => new Members('rule', [value], ['name']), InvalidSettingError);
      assert.ok(shownValue(value).length <= 81);
    }
    assert.equal(shownValue({ a: [1, 'b'] }), '{"a":[1,"b"]}');
  });
});
