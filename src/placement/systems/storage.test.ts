import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { blobNameAdvice, hashedBlobName, isLargeBlock, secondsFirst } from './blob.js';
import { queueOfKey, queuesFor } from './queue.js';
import { type SqlShardKey, sqlServerGuidText, sqlShardsFor, sqlShardText } from './sql.js';
import { groupFault, tableSpread } from './table.js';

describe('blobs', () => {
  it('are told from names that grow, and from names that do not', () => {
    const kindOf = (...names: readonly string[]) => blobNameAdvice(names).kind;
    assert.equal(kindOf('log/2024-05-30', 'log/2024-05-31', 'log/2024-06-01'), 'dates-first');
    assert.equal(kindOf('20240531', '20240601', '20240602'), 'dates-first');
    assert.equal(kindOf('a/2024-01-01', 'b/2024-01-01', 'c/2024-01-01'), 'spread');
    assert.equal(kindOf('a/2024-01-01', 'a/b/2024-01-02', 'a/c/2024-01-03'), 'spread');
    const { prefix } = blobNameAdvice(['log/2024-05-30', 'log/2024-05-31', 'log/2024-06-01']);
    assert.equal(prefix, 'log/');
    const numbers = [1, 2, 3, 4, 5].map((number) => `order000${number}`);
    assert.equal(kindOf(...numbers), 'numbers-first');
    assert.equal(kindOf('9', '8', '7', '6', '5'), 'numbers-first');
    assert.equal(kindOf('017-a', '203-b', '811-c'), 'unknown', 'hashes in order by chance');
    assert.equal(kindOf('order0007', 'order0002', 'order0003'), 'spread');
    assert.equal(kindOf('anna', 'bert', 'carl'), 'spread');
    assert.equal(kindOf('1', '2'), 'unknown');
  });

  it('have names that do not grow any more when advice is followed', () => {
    const days = Array.from(
      { length: 30 },
      (_, at) => `2024-05-${String(at + 1).padStart(2, '0')}`,
    );
    assert.equal(blobNameAdvice(days.map(hashedBlobName)).kind, 'spread');
    const moments = days.map((_, at) => {
      const first = secondsFirst(new Date(Date.UTC(2024, 4, 1, 0, 0, at * 7)));
      return first.kind === 'text' ? first.text : first.message;
    });
    assert.equal(moments[1], '07202405010000');
    assert.equal(blobNameAdvice(moments).kind, 'spread');
  });

  it('have no name of a moment that is none', () => {
    for (const ms of [NaN, 8.64e15, -62_167_219_200_001]) {
      const found = secondsFirst(new Date(ms));
      assert.ok(found.kind === 'refused', String(ms));
      assert.equal(found.reason, 'bad-key');
    }
    assert.deepEqual(secondsFirst(new Date(-62_167_219_200_000)), {
      kind: 'text',
      text: '00000001010000',
    });
  });

  it('of large blocks need no care for names', () => {
    assert.ok(!isLargeBlock(4 * 2 ** 20));
    assert.ok(isLargeBlock(4 * 2 ** 20 + 1));
    assert.ok(isLargeBlock(2 ** 20, 'premium'));
  });
});

/** A limit of 0 from the caller. */
const none = (system: 'queue' | 'table', name: string, value = 0) =>
  ({ system, name, value, unit: 'x', source: 'own', asOf: '2026-01-31', tier: undefined }) as const;

describe('queues', () => {
  it('are as many as the rate asks for, and keep each key in one', () => {
    const count = (rate: number) => {
      const found = queuesFor(rate);
      return found.kind === 'queues' ? found.queues : found.reason;
    };
    assert.deepEqual([0, 2000, 2001, 10_000].map(count), [1, 1, 2, 5]);
    assert.equal(count(-1), 'bad-count');
    const queues = ['a', 'b', 'c'];
    assert.deepEqual(queueOfKey('contoso', queues), queueOfKey('contoso', queues));
    assert.equal(queueOfKey('contoso', []).kind, 'refused');
  });

  it('are refused by a limit of 0, and by more queues than can be counted', () => {
    const reason = (rate: number, value: number) => {
      const found = queuesFor(rate, [none('queue', 'queue-rate', value)]);
      return found.kind === 'refused' ? found.reason : found.queues;
    };
    assert.equal(reason(1, 0), 'bad-count');
    assert.equal(reason(1, NaN), 'bad-count');
    assert.equal(reason(1e300, 1e-300), 'too-much');
    assert.equal(reason(1, Infinity), 1);
  });
});

describe('tables', () => {
  it('need partitions for the rate, and accounts for the rate and the bytes', () => {
    const spread = (rate: number, bytes: number) => tableSpread({ rate, bytes });
    assert.deepEqual(spread(0, 0), { kind: 'spread', partitions: 1, accounts: 1 });
    assert.deepEqual(spread(50_000, 1), { kind: 'spread', partitions: 25, accounts: 3 });
    assert.deepEqual(spread(1, 501 * 2 ** 40), { kind: 'spread', partitions: 1, accounts: 2 });
    assert.equal(spread(NaN, 1).kind, 'refused');
    const own = [none('table', 'partition-rate')];
    assert.equal(tableSpread({ rate: 1, bytes: 1 }, own).kind, 'refused');
  });

  it('group writes of one partition, each entity once, within 100 and 4 MiB', () => {
    const write = (rowKey: string, partitionKey = 'p', bytes = 1) => ({
      partitionKey,
      rowKey,
      bytes,
    });
    const rows = Array.from({ length: 101 }, (_, at) => write(String(at)));
    assert.equal(groupFault(rows.slice(1)), undefined);
    assert.equal(groupFault(rows)?.reason, 'too-much');
    assert.equal(groupFault([write('1', 'p', 4 * 2 ** 20), write('2')])?.reason, 'too-much');
    assert.equal(groupFault([write('1'), write('1')])?.reason, 'conflicting-keys');
    assert.equal(groupFault([write('1'), write('1', 'q')])?.reason, 'different-places');
    assert.equal(groupFault([])?.reason, 'bad-count');
    assert.equal(groupFault([write('1', 'p', NaN)])?.reason, 'bad-count');
  });
});

describe('keys of SQL shards', () => {
  const textOf = (key: SqlShardKey): string => {
    const text = sqlShardText(key);
    return text.kind === 'text' ? text.text : text.reason;
  };

  it('keep their order as texts', () => {
    const sign = (left: bigint | number, right: bigint | number) => (left < right ? -1 : 1);
    const int = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 });
    const bigint = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
    const date = fc.date({ noInvalidDate: true, min: new Date(-6e13), max: new Date(2.5e14) });
    const ordered = (left: SqlShardKey, right: SqlShardKey, order: number): void => {
      const [a, b] = [textOf(left), textOf(right)];
      assert.equal(a < b ? -1 : 1, order, `${a} ${b}`);
    };
    fc.assert(
      fc.property(int, int, bigint, bigint, date, date, (a, b, c, d, e, f) => {
        fc.pre(a !== b && c !== d && e.getTime() !== f.getTime());
        ordered({ type: 'int', value: a }, { type: 'int', value: b }, sign(a, b));
        ordered({ type: 'bigint', value: c }, { type: 'bigint', value: d }, sign(c, d));
        const moments = sign(e.getTime(), f.getTime());
        ordered({ type: 'dateTime', value: e }, { type: 'dateTime', value: f }, moments);
      }),
    );
    fc.assert(
      fc.property(bigint, bigint, date, date, fc.uuid(), fc.uuid(), (a, b, c, d, e, f) => {
        fc.pre(a !== b && c.getTime() !== d.getTime() && e !== f);
        ordered({ type: 'timeSpan', value: a }, { type: 'timeSpan', value: b }, sign(a, b));
        const moments = sign(c.getTime(), d.getTime());
        ordered(
          { type: 'dateTimeOffset', value: c },
          { type: 'dateTimeOffset', value: d },
          moments,
        );
        const bytesOf = (guid: string) => Buffer.from(guid.replaceAll('-', ''), 'hex');
        const guids = Buffer.compare(bytesOf(e), bytesOf(f));
        ordered({ type: 'guid', value: e.toUpperCase() }, { type: 'guid', value: f }, guids);
      }),
    );
    const bytes = fc.uint8Array({ maxLength: 128 });
    fc.assert(
      fc.property(bytes, bytes, (a, b) => {
        const order = Buffer.compare(a, b);
        fc.pre(order !== 0);
        ordered({ type: 'binary', value: a }, { type: 'binary', value: b }, order);
      }),
    );
  });

  it('are refused beyond their type', () => {
    assert.equal(textOf({ type: 'int', value: -(2 ** 31) }), '0000000000');
    assert.equal(textOf({ type: 'int', value: 2 ** 31 }), 'bad-key');
    assert.equal(textOf({ type: 'int', value: 0.5 }), 'bad-key');
    assert.equal(textOf({ type: 'bigint', value: 2n ** 63n }), 'bad-key');
    assert.equal(textOf({ type: 'timeSpan', value: -1n }), '09223372036854775807');
    assert.equal(textOf({ type: 'guid', value: 'no' }), 'bad-key');
    assert.equal(textOf({ type: 'binary', value: new Uint8Array(129) }), 'too-much');
    assert.equal(textOf({ type: 'dateTime', value: new Date(NaN) }), 'bad-key');
    assert.equal(textOf({ type: 'dateTimeOffset', value: new Date(0) }), '0621355968000000000');
  });

  it('have the order of SQL Server: the last six bytes first, the first group last', () => {
    const bytesOf = (guid: string): Buffer => {
      const bytes = Buffer.from(guid.replaceAll('-', ''), 'hex');
      const order = [10, 11, 12, 13, 14, 15, 8, 9, 7, 6, 5, 4, 3, 2, 1, 0];
      return Buffer.from(order.map((at) => bytes.readUInt8(at)));
    };
    fc.assert(
      fc.property(fc.uuid(), fc.uuid(), (a, b) => {
        const [left, right] = [sqlServerGuidText(a), sqlServerGuidText(b)];
        assert.ok(left.kind === 'text' && right.kind === 'text');
        const order = left.text < right.text ? -1 : left.text > right.text ? 1 : 0;
        assert.equal(order, Buffer.compare(bytesOf(a), bytesOf(b)), `${a} ${b}`);
      }),
    );
  });

  it('have an order of their own as guids of SQL Server', () => {
    const text = sqlServerGuidText('00112233-4455-6677-8899-AABBCCDDEEFF');
    assert.deepEqual(text, { kind: 'text', text: 'aabbccddeeff-8899-7766-5544-33221100' });
    assert.equal(sqlServerGuidText('x').kind, 'refused');
  });

  it('spread over as many shards as the scarcest figure asks for', () => {
    const ofShard = { bytes: 100, connections: 10 };
    const shards = sqlShardsFor({ bytes: 150, connections: 45 }, ofShard);
    assert.deepEqual(shards, { kind: 'shards', shards: 5, by: 'connections' });
    assert.equal(sqlShardsFor({ rate: 1 }, ofShard).kind, 'refused');
    assert.equal(sqlShardsFor({ bytes: 1e300 }, { bytes: 1e-300 }).kind, 'refused');
  });
});
