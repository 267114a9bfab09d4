import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { eventHubsHash, eventHubsPartition, type EventHubsRule } from './event-hubs.js';

/** Key, hash, and its partition of 2, 4, 8, 32 and 100 by the rule of JavaScript and .NET. */
const published: readonly (readonly [string, number, readonly number[]])[] = [
  ['7', -15263, [1, 3, 7, 31, 63]],
  ['131', 30562, [0, 2, 2, 2, 62]],
  ['FWfAT', -22341, [1, 1, 5, 5, 41]],
  ['7149583486996073602', 12977, [1, 1, 1, 17, 77]],
  ['sOdeEAsyQoEuEFPGerWO', -6503, [1, 3, 7, 7, 3]],
  ['!c*_!I@1^c', 15372, [0, 0, 4, 12, 72]],
  ['$0cb', 26269, [1, 1, 5, 29, 69]],
  ['p4*!jioeO/z-!-;w:dh', -3104, [0, 0, 0, 0, 4]],
  ['-4189260826195535198', 453, [1, 1, 5, 5, 53]],
  ['a', -16220, [0, 0, 4, 28, 20]],
  ['Contoso', 21879, [1, 3, 7, 23, 79]],
  ['π', -755, [1, 3, 3, 19, 55]],
  ['🚀', 20133, [1, 1, 5, 5, 33]],
];

function partitionOf(partitionKey: string, partitions: number, rule: EventHubsRule): unknown {
  const place = eventHubsPartition({ partitionKey }, { partitions, rule });
  return place.kind === 'partition' ? place.partition : place;
}

function reasonOf(partitions: number, target: object, rule: EventHubsRule = 'javascript'): unknown {
  const place = eventHubsPartition(target, { partitions, rule });
  return place.kind === 'refused' ? place.reason : place.kind;
}

describe('Event Hubs', () => {
  it('hashes and places keys as published', () => {
    for (const [key, hash, partitions] of published) {
      assert.equal(eventHubsHash(key), hash, key);
      const found = [2, 4, 8, 32, 100].map((count) => partitionOf(key, count, 'javascript'));
      assert.deepEqual(found, partitions, key);
    }
    assert.equal(eventHubsHash(''), 0);
  });

  it('places negative hashes elsewhere by the rule of Python, others alike', () => {
    assert.equal(partitionOf('7', 4, 'python'), 1);
    for (const [key, hash, [, ofFour]] of published.filter(([text]) => /^[!-~]*$/.test(text))) {
      const isAlike = partitionOf(key, 4, 'python') === ofFour;
      assert.equal(isAlike, hash >= 0 || Math.abs(hash % 4) % 2 === 0, key);
    }
  });

  it('hashes code points by the rule of Python, as its client 5.15.1 does', () => {
    const computed: readonly (readonly [string, number])[] = [
      ['', 0],
      ['Contoso', 21_879],
      ['π', 32_205],
      ['🚀', 5634],
      ['é', -1243],
      ['日本語のキーがここにあります', 26_711],
    ];
    for (const [key, hash] of computed) {
      assert.equal(eventHubsHash(key, 'python'), hash, key);
      assert.equal(partitionOf(key, 4, 'python'), ((hash % 4) + 4) % 4, key);
    }
  });

  it('cuts the values of the second rule into contiguous ranges, whatever the case', () => {
    const hashes = ['a', 'A', 'Contoso', 'device-0001', '7'];
    const found = hashes.map((key) => eventHubsHash(key, 'iot-edge'));
    assert.deepEqual(found, [9517, 9517, -15_864, 32_246, -15_263]);
    const places = (key: string) =>
      [2, 4, 8, 32].map((count) => partitionOf(key, count, 'iot-edge'));
    assert.deepEqual(places('a'), [0, 1, 2, 9]);
    assert.deepEqual(places('A'), [0, 1, 2, 9]);
    assert.deepEqual(places('Contoso'), [0, 1, 3, 15]);
    assert.deepEqual(places('device-0001'), [1, 3, 7, 31]);
    assert.deepEqual(places('7'), [0, 1, 3, 14]);
    assert.equal(reasonOf(4, { partitionKey: 'π' }, 'iot-edge'), 'bad-key');
    assert.equal(reasonOf(32_768, { partitionKey: 'a' }, 'iot-edge'), 'bad-count');
  });

  it('takes a partition id as it is, and nothing as round robin', () => {
    assert.deepEqual(eventHubsPartition({ partitionId: '3' }, { partitions: 4, rule: 'python' }), {
      kind: 'partition',
      partition: 3,
      by: 'id',
    });
    assert.equal(reasonOf(4, {}), 'round-robin');
  });

  it('refuses a key beside an id, ids that do not exist and impossible counts', () => {
    assert.equal(reasonOf(4, { partitionId: '1', partitionKey: 'a' }), 'conflicting-keys');
    for (const partitionId of ['4', '-1', '01', '', '1.0', 'one']) {
      assert.equal(reasonOf(4, { partitionId }), 'unknown-name', partitionId);
    }
    for (const count of [0, -1, 1.5, NaN, Infinity]) {
      assert.equal(reasonOf(count, { partitionKey: 'a' }), 'bad-count');
    }
  });
});
