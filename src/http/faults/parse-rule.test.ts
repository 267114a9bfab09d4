import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { InvalidSettingError } from '../../base/invalid-setting-error.js';
import { parseRule } from './parse-rule.js';

const context = {
  path: 'faults[0]',
  defaultName: 'fault-1',
  operations: ['InsertEntity', 'PutMessage'],
};
const effect = { kind: 'reset' };

describe('a fault rule', () => {
  it('fits every request and fires always, unless it says otherwise', () => {
    const { rule, scope, probability, skip, count } = parseRule({ effect }, context);
    assert.equal(rule.name, 'fault-1');
    assert.ok(Object.values(scope).every((each) => each === undefined));
    assert.deepEqual([probability, skip, count], [1, 0, Infinity]);
  });

  it('is about the service whose tables or queues it names', () => {
    assert.equal(parseRule({ table: 'a*', effect }, context).scope.service, 'table');
    assert.equal(parseRule({ queue: 'a*', effect }, context).scope.service, 'queue');
    assert.equal(parseRule({ container: 'a*', effect }, context).scope.service, 'blob');
  });

  it('is about blobs when it names them, and fits no table then', () => {
    const { scope } = parseRule({ container: 'photos', blob: 'cats/*', effect }, context);
    assert.equal(scope.service, 'blob');
    assert.equal(scope.partitionKey?.length, 1);
    for (const other of [{ service: 'table' }, { queue: 'work' }, { rowKey: '1' }]) {
      assert.throws(
        () => parseRule({ ...other, blob: 'cats/*', effect }, context),
        /fits no request/,
      );
    }
  });

  it('may have latencies beside another effect, in any order', () => {
    const effects = [
      { kind: 'latency', ms: 5 },
      effect,
      { kind: 'latency', ms: { min: 1, max: 2 } },
    ];
    const parsed = parseRule({ effect: effects }, context);
    assert.deepEqual(parsed.effect, { kind: 'reset' });
    assert.deepEqual(parsed.latencies, [
      { min: 5, max: 5 },
      { min: 1, max: 2 },
    ]);
  });

  const refused: readonly [what: string, rule: unknown, message: RegExp][] = [
    ['no object', 'reset', /^faults\[0\] must be an object with effect, not "reset"\.$/],
    ['null', null, /^faults\[0\] must be an object/],
    ['a list', [], /^faults\[0\] must be an object/],
    [
      'a member with a typing mistake',
      { probabilty: 1, effect },
      /no member 'probabilty'.*probability/,
    ],
    ['no effect', {}, /^faults\[0\] needs the member 'effect'\.$/],
    ['an empty list of effects', { effect: [] }, /a list of 1 to 10 of these/],
    [
      'an unknown effect',
      { effect: { kind: 'explode' } },
      /effect\.kind must be error, .* or latency, not "explode"/,
    ],
    ['an effect without a kind', { effect: { ms: 1 } }, /effect needs the member 'kind'/],
    [
      'a member of another effect',
      { effect: { kind: 'reset', ms: 1 } },
      /effect has no member 'ms'/,
    ],
    ['effects that exclude each other', { effect: [effect, { kind: 'truncate' }] }, /exclude each/],
    [
      'an unknown code',
      { effect: { kind: 'error', code: 'Busy' } },
      /code must be ServerBusy, .* not "Busy"/,
    ],
    ['an error without a code', { effect: { kind: 'error' } }, /needs the member 'code'/],
    [
      'a wait that is no number',
      { effect: { kind: 'error', code: 'ServerBusy', retryAfterSeconds: 'soon' } },
      /retryAfterSeconds must be a whole number from 0 to 3600, not "soon"/,
    ],
    ['negative bytes', { effect: { kind: 'truncate', bytes: -1 } }, /effect\.bytes must be/],
    ['an endless latency', { effect: { kind: 'latency', ms: 1e9 } }, /effect\.ms must be a number/],
    ['a latency without a time', { effect: { kind: 'latency' } }, /needs the member 'ms'/],
    [
      'a range that is upside down',
      { effect: { kind: 'latency', ms: { min: 2, max: 1 } } },
      /min that is not above its max/,
    ],
    ['a place in a list of effects', { effect: [{ kind: 'latency', ms: -1 }] }, /effect\[0\]\.ms/],
    [
      'an unknown operation',
      { operation: 'Insert', effect },
      /operation.*InsertEntity, PutMessage/,
    ],
    [
      'an unknown service',
      { service: 'file', effect },
      /service must be table, queue or blob, not "file"/,
    ],
    ['a probability above 1', { probability: 1.5, effect }, /probability must be a number from 0/],
    ['a probability that is a text', { probability: '1', effect }, /probability must be a number/],
    ['a count of nothing', { count: 0, effect }, /count must be a whole number from 1/],
    ['a broken count', { count: 1.5, effect }, /count must be a whole number/],
    ['a negative skip', { skip: -1, effect }, /skip must be a whole number from 0/],
    [
      'a pattern that is no text',
      { table: 5, effect },
      /table must be a text of at most .*, or a list of 1 to 100, not 5/,
    ],
    [
      'an empty list of patterns',
      { table: [], effect },
      /or a list of 1 to 100, not an empty list/,
    ],
    ['a pattern that ends in a backslash', { rowKey: 'a\\', effect }, /rowKey must be a pattern/],
    [
      'a pattern beyond any key',
      { rowKey: 'a'.repeat(3000), effect },
      /rowKey must be a text of at most 2048 characters/,
    ],
    ['keys of messages', { queue: 'q', partitionKey: 'p', effect }, /fits no request/],
    ['a table and a queue', { table: 't', queue: 'q', effect }, /fits no request/],
    ['a name that could be mistaken', { name: 'a,b', effect }, /name must be 1 to 100 letters/],
  ];
  for (const [what, rule, message] of refused) {
    it(`is refused with ${what}, and the error says where`, () => {
      assert.throws(
        () => parseRule(rule, context),
        (error: unknown) => {
          assert.ok(error instanceof InvalidSettingError, String(error));
          assert.match(error.message, message);
          return true;
        },
      );
    });
  }
});
