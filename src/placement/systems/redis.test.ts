import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import {
  redisHashTag,
  redisRing,
  redisSameSlot,
  type RedisScheme,
  redisServer,
  redisSlot,
  redisSlotRanges,
} from './redis.js';

function schemeOf(scheme: RedisScheme | { readonly kind: 'refused' }): RedisScheme {
  assert.ok(scheme.kind !== 'refused');
  return scheme;
}

function serverOf(key: string, scheme: RedisScheme): string {
  const place = redisServer(key, scheme);
  return place.kind === 'server' ? place.server : place.kind;
}

describe('Redis', () => {
  it('has the slots that a server answers', () => {
    const answered: Readonly<Record<string, number>> = {
      '123456789': 12_739,
      foo: 12_182,
      bar: 5061,
      'foo{bar}{zap}': 5061,
      '{user1000}.following': 3443,
      'foo{}{bar}': 8363,
      'foo{{bar}}zap': 4015,
      '{}x': 10_595,
      'a}b{c}': 7365,
      '': 0,
    };
    const found = Object.keys(answered).map((key) => [key, redisSlot(key)]);
    assert.deepEqual(Object.fromEntries(found), answered);
  });

  it('takes bytes that are no text', () => {
    const key = new Uint8Array([0xff, 0x7b, 0x80, 0x7d, 0x00]);
    assert.deepEqual([...redisHashTag(key)], [0x80]);
  });

  it('lets keys with one tag go together, and names those that do not', () => {
    assert.deepEqual(redisSameSlot(['{7}.a', 'b{7}']), { kind: 'slot', slot: redisSlot('7') });
    const refusal = redisSameSlot(['{7}.a', 'b']);
    assert.ok(refusal.kind === 'refused');
    assert.equal(refusal.reason, 'different-places');
    assert.match(refusal.message, /'\{7\}\.a'.*'b'/);
    assert.equal(redisSameSlot([]).kind, 'refused');
  });

  it('gives every slot to one server, evenly', () => {
    for (const count of [1, 3, 7, 1000]) {
      const shares = redisSlotRanges(Array.from({ length: count }, (_, at) => `s${at}`));
      assert.ok(shares.kind === 'slots');
      let next = 0;
      for (const { from, to } of shares.ranges) {
        assert.equal(from, next);
        next = to + 1;
        const share = to - from + 1;
        assert.ok(share === Math.floor(16_384 / count) || share === Math.ceil(16_384 / count));
      }
      assert.equal(next, 16_384);
    }
    assert.equal(redisSlotRanges(['a', 'a']).kind, 'refused');
    assert.equal(redisSlotRanges([]).kind, 'refused');
  });

  it('moves on a ring only to the new server, and about one key in n', () => {
    const servers = ['10.0.0.1:6379', '10.0.0.2:6379', '10.0.0.3:6379'];
    const before = schemeOf(redisRing(servers));
    const after = schemeOf(redisRing([...servers, '10.0.0.4:6379']));
    const keys = Array.from({ length: 2000 }, (_, at) => `customer:${at}`);
    const moved = keys.filter((key) => serverOf(key, before) !== serverOf(key, after));
    assert.ok(moved.every((key) => serverOf(key, after) === '10.0.0.4:6379'));
    assert.ok(Math.abs(moved.length / keys.length - 1 / 4) < 0.05, String(moved.length));
    assert.deepEqual(redisRing(servers.toReversed()), before);
    assert.equal(serverOf('{7}.a', after), serverOf('b{7}', after));
  });

  it('moves on a ring of any servers only to the new one', () => {
    const name = fc.string({ minLength: 1, maxLength: 12 });
    const servers = fc.uniqueArray(name, { minLength: 2, maxLength: 6 });
    fc.assert(
      fc.property(servers, fc.array(fc.string(), { minLength: 1, maxLength: 50 }), (all, keys) => {
        const [added = '', ...rest] = all;
        const [before, after] = [schemeOf(redisRing(rest)), schemeOf(redisRing(all))];
        for (const key of keys) {
          const now = serverOf(key, after);
          assert.ok(now === added || now === serverOf(key, before), key);
        }
      }),
    );
  });

  it('moves on a ring no more than a share of one server and 5 %, however many there are', () => {
    const keys = Array.from({ length: 1000 }, (_, at) => `customer:${at}`);
    let before = schemeOf(redisRing(['cache-0']));
    for (let count = 2; count <= 12; count += 1) {
      const servers = Array.from({ length: count }, (_, at) => `cache-${at}`);
      const after = schemeOf(redisRing(servers));
      const moved = keys.filter((key) => serverOf(key, before) !== serverOf(key, after));
      assert.ok(moved.length / keys.length <= 1 / count + 0.05, `${moved.length} of ${count}`);
      before = after;
    }
  });

  it('asks the owner of a slot, and any proxy', () => {
    const scheme = schemeOf(redisSlotRanges(['a', 'b']));
    assert.equal(serverOf('bar', scheme), 'a');
    assert.equal(serverOf('foo', scheme), 'b');
    const proxies = ['p', 'q'];
    assert.deepEqual(redisServer('foo', { kind: 'proxy', proxies }), {
      kind: 'any',
      servers: proxies,
    });
  });

  it('says what a scheme lacks that has no server for a key', () => {
    const messageOf = (lacking: RedisScheme): string => {
      const place = redisServer('foo', lacking);
      return place.kind === 'refused' ? place.message : place.kind;
    };
    assert.match(messageOf({ kind: 'slots', ranges: [] }), /slot 12182; give every slot a server$/);
    assert.match(messageOf({ kind: 'ring', points: [] }), /ring has no server; add one$/);
    assert.match(messageOf({ kind: 'proxy', proxies: [] }), /^0 servers/);
  });
});
