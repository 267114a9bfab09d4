import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  cosmosKey,
  cosmosKeyFault,
  cosmosPrefixRange,
  cosmosRangeOf,
  type CosmosValue,
  type CosmosVersion,
} from './cosmos-db.js';

const published: readonly (readonly [CosmosValue, v1: string, v2: string])[] = [
  ['Contoso', '05C1D5C9C91DD80844706F7570747000', '23C3EC20CBEA798430F192F7BB985CAE'],
  ['redmond', '05C1EFE313830C087366656E706F6500', '22E342F38A486A088463DFF7838A5963'],
  ['', '05C1CF33970FF80800', '32E9366E637A71B4E710384B2F4970A0'],
  [0, '05C1BF6DA115600580', '155B95BEDAC4B1E9EC1CDC9BB0DDDE58'],
  [-0, '05C1E703ED99A00580', '3D018BB1DF3DB27235766E81FD10406E'],
  [5, '05C1D9C1C5517C05C014', '19C08621B135968252FB34B4CF66F811'],
  [true, '05C1D7C5A903D803', '0E711127C5B5A8E4726AC6DD306A3E59'],
  [null, '05C1ED45D7475601', '378867E4430E67857ACE5C908374FE16'],
  [undefined, '05C1D529E345DC00', '11622DAA78F835834610ABE56EFF5CB5'],
];

function keyOf(version: CosmosVersion, ...values: readonly CosmosValue[]): string {
  const key = cosmosKey(version, values);
  return key.kind === 'key' ? key.key : key.reason;
}

describe('Cosmos DB', () => {
  it('makes the effective keys that the official client makes', () => {
    for (const [value, v1, v2] of published) {
      assert.equal(keyOf('v1', value), v1);
      assert.equal(keyOf('v2', value), v2);
    }
    assert.equal(
      keyOf('multi-hash', 'Contoso', 'eu'),
      '23C3EC20CBEA798430F192F7BB985CAE3F97C8ADBAFAA4A183E4E7F7EB9BE36E',
    );
  });

  it('tells only the first 100 characters of a text apart by version 1', () => {
    const [short, long] = ['x'.repeat(100), 'x'.repeat(101)];
    assert.equal(keyOf('v1', short), keyOf('v1', long));
    assert.notEqual(keyOf('v2', short), keyOf('v2', long));
    assert.equal(cosmosKeyFault('v1', [short]), undefined);
    assert.match(cosmosKeyFault('v1', [long])?.message ?? '', /100 characters.*documentation/);
  });

  it('refuses too many levels, no value, and numbers that JSON does not have', () => {
    assert.equal(keyOf('multi-hash', 'a', 'b', 'c', 'd'), 'too-much');
    assert.equal(keyOf('v1', 'a', 'b'), 'too-much');
    assert.equal(keyOf('v2'), 'bad-key');
    for (const value of [NaN, Infinity, -Infinity]) assert.equal(keyOf('v2', value), 'bad-key');
    assert.equal(cosmosKeyFault('v2', ['é'.repeat(1025)])?.reason, 'too-much');
    assert.equal(cosmosKeyFault('v2', ['é'.repeat(1024)]), undefined);
  });

  it('refuses values of other types, as callers without types may give, and names the level', () => {
    const untyped = (values: readonly unknown[]) => values as readonly CosmosValue[];
    for (const odd of [{}, [], 5n, new Date(0), () => 0, Symbol('id')]) {
      for (const version of ['v1', 'v2', 'multi-hash'] as const) {
        const values = untyped([odd]);
        assert.equal(keyOf(version, ...values), 'bad-key', `${typeof odd}, ${version}`);
        assert.equal(cosmosKeyFault(version, values)?.reason, 'bad-key');
      }
    }
    const refusal = cosmosKey('multi-hash', untyped(['eu', 5n]));
    assert.match(refusal.kind === 'refused' ? refusal.message : '', /^value 2 .*bigint; give/);
  });

  it('finds the range of a key, and says when the ranges have none or two', () => {
    const ranges = [
      { id: '1', min: '', max: '20' },
      { id: '2', min: '20', max: 'FF' },
    ];
    const found = cosmosRangeOf(keyOf('v2', 'Contoso'), ranges);
    assert.deepEqual(found, { kind: 'range', range: ranges[1] });
    const stale = [...ranges, { id: '3', min: '23', max: '24' }];
    assert.equal(cosmosRangeOf(keyOf('v2', 'Contoso'), stale).kind, 'refused');
    assert.equal(cosmosRangeOf(keyOf('v2', 'Contoso'), ranges.slice(0, 1)).kind, 'refused');
  });

  it('has every key with a prefix between the ends of the prefix, and no other', () => {
    const range = cosmosPrefixRange(['Contoso']);
    assert.ok(range.kind === 'keys');
    const isWithin = (key: string) => range.min <= key && key < range.max;
    assert.ok(isWithin(keyOf('multi-hash', 'Contoso', 'eu')));
    assert.ok(isWithin(keyOf('multi-hash', 'Contoso', 7, null)));
    assert.ok(!isWithin(keyOf('multi-hash', 'redmond', 'eu')));
  });
});
