import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { defineEntity } from '../../definition/entity-definition.js';
import { key, type KeyTemplate } from '../../definition/key-template.js';
import type { KeyFields } from '../../definition/entity-definition.js';
import {
  dateTime,
  enumeration,
  instant,
  int32,
  int64,
  string,
} from '../../definition/scalar-types.js';
import { movingPart } from './key-motion.js';
import { uniform } from './distribution.js';
import type { FactsByName } from './property-facts.js';

const properties = {
  department: string(),
  level: enumeration('info', 'error'),
  at: instant(),
  on: dateTime(),
  id: int32(),
  big: int64(),
};

function motion(
  template: (p: KeyFields<typeof properties>) => KeyTemplate,
  facts: FactsByName = {},
) {
  const definition = defineEntity({
    type: 'T',
    properties,
    partitionKey: template,
    rowKey: () => key`1`,
  });
  return movingPart(definition.partitionKey, properties, facts);
}

describe('the motion of keys', () => {
  it('appends with a moment, and prepends with a moment that counts down', () => {
    assert.deepEqual(
      motion((p) => key`log_${p.at.ascending()}`),
      { property: 'at', direction: 'append', evidence: 'moment', share: 1 },
    );
    assert.deepEqual(motion((p) => key`${p.on.descending()}`)?.direction, 'prepend');
  });

  it('asks about texts that are named like times, and takes those that were found to be such', () => {
    const definition = defineEntity({
      type: 'Login',
      properties: { loginDay: string(), birthday: string() },
      partitionKey: (p) => key`${p.loginDay}_${p.birthday}`,
      rowKey: () => key`1`,
    });
    const found = (facts: FactsByName) =>
      movingPart(definition.partitionKey, definition.properties, facts)?.evidence;
    assert.equal(found({}), 'name');
    assert.equal(found({ loginDay: { isTime: true } }), 'moment');
    assert.equal(found({ loginDay: { order: 'random' } }), undefined);
    assert.equal(found({ loginDay: { order: 'increasing' } }), 'declared');
  });

  it('is none for moments that have nothing to do with inserts', () => {
    assert.equal(
      motion((p) => key`${p.on.ascending()}`, { on: { order: 'random' } }),
      undefined,
    );
  });

  it('takes a number for one that may count up, and for one that does when told', () => {
    assert.equal(motion((p) => key`${p.id.padded(6)}`)?.evidence, 'number');
    for (const [template, direction] of [
      [(p: KeyFields<typeof properties>) => key`${p.id.padded(6)}`, 'append'],
      [(p: KeyFields<typeof properties>) => key`${p.id.descending(6)}`, 'prepend'],
      [(p: KeyFields<typeof properties>) => key`${p.big.offset()}`, 'append'],
      [(p: KeyFields<typeof properties>) => key`${p.id.unordered()}`, 'append'],
    ] as const) {
      const facts = { id: { order: 'increasing' }, big: { order: 'increasing' } } as const;
      const found = motion(template, facts);
      assert.deepEqual([found?.direction, found?.evidence], [direction, 'declared']);
    }
    const down = motion((p) => key`${p.id.padded(6)}`, { id: { order: 'decreasing' } });
    assert.equal(down?.direction, 'prepend');
  });

  it('is none for a number of a bucket, whose values are known', () => {
    assert.equal(
      motion((p) => key`${p.id.padded(3)}`, { id: { values: uniform(16) } }),
      undefined,
    );
  });

  it('is none for texts, unless they are told to grow', () => {
    assert.equal(
      motion((p) => key`${p.department}`),
      undefined,
    );
    assert.equal(
      motion((p) => key`${p.department}`, { department: { order: 'increasing' } })?.direction,
      'append',
    );
  });

  it('is divided by the values that lead the key', () => {
    assert.equal(motion((p) => key`${p.level}_${p.at.ascending()}`)?.share, 0.5);
    assert.equal(motion((p) => key`${p.department}_${p.at.ascending()}`)?.share, undefined);
    const facts = { department: { values: uniform(10) } };
    assert.equal(motion((p) => key`${p.department}_${p.at.ascending()}`, facts)?.share, 0.1);
  });
});
