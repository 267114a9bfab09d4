import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { shardOfText } from './shard-routing.js';
import {
  isShardKeyText,
  shardKeyText,
  shardKeyTypes,
  typedRouting,
  type ShardKeyType,
  type ShardKeyValues,
} from './typed-routing.js';

const guid = (first: string) => `${first}-0000-0000-0000-000000000000`;

/** Keys of each type in their order. */
const ordered: { readonly [T in ShardKeyType]: readonly ShardKeyValues[T][] } = {
  text: ['', '10', '9', 'a', 'é'],
  int: [-(2 ** 31), -10, -9, 0, 9, 10, 2 ** 31 - 1],
  bigint: [-(2n ** 63n), -10n, -9n, 0n, 9n, 10n, 2n ** 63n - 1n],
  guid: [guid('00000000'), guid('00000001'), guid('10000000'), guid('ffffffff')],
  binary: [[], [0], [0, 0], [0, 1], [1], [255]].map((bytes) => Uint8Array.from(bytes)),
  dateTime: ['0001-01-01', '1969-12-31', '1970-01-01', '9999-12-31'].map((day) => new Date(day)),
  timeSpan: [-36_000_000_000n, -1n, 0n, 1n, 36_000_000_000n],
  dateTimeOffset: ['1969-12-31T23:00:00-02:00', '1970-01-01T01:30:00Z'].map((at) => new Date(at)),
};

function textOf<T extends ShardKeyType>(type: T, value: ShardKeyValues[T]): string {
  const found = shardKeyText(type, value);
  assert.ok(found.kind === 'text', type);
  return found.text;
}

function check<T extends ShardKeyType>(type: T, keys: readonly ShardKeyValues[T][]): void {
  const texts = keys.map((value) => textOf(type, value));
  assert.deepEqual(texts, [...new Set(texts)].sort(), type);
  const middle = Math.floor(keys.length / 2);
  const built = typedRouting<T>(type, {
    kind: 'range',
    ranges: [{ shard: 'low' }, { from: keys[middle], shard: 'high' }].map(({ from, shard }) =>
      from === undefined ? { shard } : { from, shard },
    ),
  });
  assert.ok(built.kind === 'routing', type);
  const shards = texts.map((text) => shardOfText(built.routing, text));
  const expected = texts.map((_, index) => (index < middle ? 'low' : 'high'));
  assert.deepEqual(shards, expected, type);
}

describe('keys of a map', () => {
  it('keep their order as texts, so that ranges of every type cut where they say', () => {
    for (const type of shardKeyTypes) check(type, ordered[type]);
  });

  it('are told from other texts, which no key has', () => {
    const { text, ...typed } = ordered;
    assert.ok(text.every((each) => isShardKeyText('text', each)));
    for (const type of shardKeyTypes) {
      for (const value of ordered[type]) assert.ok(isShardKeyText(type, textOf(type, value)), type);
    }
    const others: { readonly [T in keyof typeof typed]: readonly string[] } = {
      int: ['', '250', '0000000250x', '4294967296', '-000000001'],
      bigint: ['', '250', '18446744073709551616', '0x000000000000000001'],
      timeSpan: ['', '250', '18446744073709551616'],
      guid: ['', '250', guid('FFFFFFFF'), `{${guid('00000000')}}`],
      binary: ['0', 'FF', '0g'],
      dateTime: ['', '2024-05-31', '3155378976000000000'],
      dateTimeOffset: ['', '2024-05-31T00:00:00Z', '9999999999999999999'],
    };
    for (const type of shardKeyTypes) {
      if (type === 'text') continue;
      for (const each of others[type]) assert.ok(!isShardKeyText(type, each), `${type} '${each}'`);
    }
  });

  it('are listed by value', () => {
    const built = typedRouting('int', {
      kind: 'list',
      keys: [
        [7, 'a'],
        [-7, 'b'],
      ],
    });
    assert.ok(built.kind === 'routing');
    const shards = [7, -7, 0].map((value) => shardOfText(built.routing, textOf('int', value)));
    assert.deepEqual(shards, ['a', 'b', undefined]);
  });

  it('are dealt to slots that there can be, and to no others', () => {
    const kindOf = (slots: number) => typedRouting('int', { kind: 'hash', shards: ['a'], slots });
    assert.equal(kindOf(16_384).kind, 'routing');
    for (const slots of [0, 1.5, 16_385, NaN, Infinity]) {
      const found = kindOf(slots);
      assert.ok(found.kind === 'refused');
      assert.equal(found.message, `${slots} slots; give 1 to 16384`);
    }
  });

  it('are refused by what is wrong with them', () => {
    const messages = [
      typedRouting('int', { kind: 'list', keys: [[0.5, 'a']] }),
      typedRouting('guid', { kind: 'list', keys: [['x', 'a']] }),
      typedRouting('int', { kind: 'list', keys: [1, 1].map((key) => [key, 'a'] as const) }),
      typedRouting('int', { kind: 'range', ranges: [{ from: 0, shard: 'a' }] }),
      typedRouting('int', {
        kind: 'range',
        ranges: [{ shard: 'a' }, { from: 9, shard: 'a' }, { from: 8, shard: 'a' }],
      }),
      typedRouting('binary', { kind: 'list', keys: [[new Uint8Array(129), 'a']] }),
    ].map((each) => (each.kind === 'refused' ? each.message : 'taken'));
    assert.deepEqual(
      messages.map((message) => message.slice(0, 34)),
      [
        '0.5 is no whole number of 32 bits',
        `'x' is no guid`,
        '1 is listed twice',
        'the first range has no from: it ha',
        'ranges are in the order of their f',
        'a key of 129 bytes; at most 128 by',
      ],
    );
  });

  it('are refused where a program without types gives something else', () => {
    const messages = [
      typedRouting('text', { kind: 'list', keys: [[5 as never, 'a']] }),
      typedRouting('int', { kind: 'list', keys: [['5' as never, 'a']] }),
      typedRouting('bigint', { kind: 'list', keys: [[5 as never, 'a']] }),
      typedRouting('dateTime', { kind: 'list', keys: [['2024-05-31' as never, 'a']] }),
      typedRouting('text', { kind: 'list', shards: { x: 'a' } } as never),
      typedRouting('text', { kind: 'range' } as never),
      typedRouting('text', { kind: 'hash' } as never),
      typedRouting('text', { kind: 'range', ranges: [] }),
    ].map((each) => (each.kind === 'refused' ? each.message : 'taken'));
    assert.deepEqual(messages, [
      'number 5 is no key of the type text',
      "the text '5' is no key of the type int",
      'number 5 is no key of the type bigint',
      "the text '2024-05-31' is no key of the type dateTime",
      'a list has keys: pairs of a key and its shard',
      'a range map has ranges, each with its shard and from where on',
      'a hash has shards: their names',
      'there are no ranges; give one at least',
    ]);
  });
});
