import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { byLength } from '../../test/support/run-length.js';
import * as placement from './index.js';

// For any arguments of the declared types, no function throws or invents a figure: an unknown
// result is a refusal.

const odd = [0, -0, -1, 0.5, 1, 2, 7, 1024, 16_385, 2 ** 31, 2 ** 32, 2 ** 53, 1e308, 5e-324];
const number = fc.oneof(
  fc.constantFrom(...odd, -1e308, NaN, Infinity, -Infinity),
  fc.integer({ min: -3, max: 40 }),
);
const text = fc.oneof(
  fc.constantFrom(
    '',
    'a',
    '{}',
    '{a',
    '__proto__',
    'constructor',
    '\ud800',
    '\0',
    '00',
    'x'.repeat(300),
  ),
  fc.string({ unit: 'binary', maxLength: 12 }),
);
const texts = fc.array(text, { maxLength: 5 });
const bigint = fc.oneof(
  fc.constantFrom(0n, -1n, 2n ** 63n, 2n ** 63n - 1n, -(2n ** 63n), -(2n ** 64n), 10n ** 40n),
  fc.bigInt({ min: -200n, max: 200n }),
);
const bytes = fc.uint8Array({ maxLength: 140 });
const date = fc.oneof(
  fc.constantFrom(NaN, 8.64e15, -8.64e15, 253_402_300_800_000).map((ms) => new Date(ms)),
  fc.date(),
);
const names = fc.dictionary(text, text, { maxKeys: 4 });
const figures = fc.dictionary(fc.oneof(text, fc.constant('rate')), number, { maxKeys: 4 });
const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });

const tier = fc.constantFrom('standard', 'basic', 'free', 'premium', '');
const known = fc.constantFrom(...placement.knownLimits);
function withFigure(
  limit: placement.KnownLimit,
  value: number,
  of: string | undefined,
): placement.KnownLimit {
  return { ...limit, value, tier: of, source: 'own' };
}

/** Figures of the names that the rules look at, with values that are none. */
const own: fc.Arbitrary<readonly placement.KnownLimit[]> = fc.array(
  fc.tuple(known, number, maybe(tier)).map(([limit, value, of]) => withFigure(limit, value, of)),
  { maxLength: 4 },
);

const range = fc.record({ from: text, shard: text });
const routing: fc.Arbitrary<placement.ShardRouting> = fc.oneof(
  fc
    .tuple(names, maybe(text))
    .map(([shards, otherwise]) => placement.listRouting(shards, otherwise)),
  fc.array(range, { maxLength: 5 }).map(placement.rangeRouting),
  fc.tuple(texts, maybe(number)).map(([shards, slots]) => placement.hashRouting(shards, slots)),
);
const ofKind = <K extends placement.ShardRouting['kind']>(kind: K) =>
  routing.filter(
    (each): each is placement.ShardRouting & { readonly kind: K } => each.kind === kind,
  );

const cosmosValue = fc.oneof(text, number, fc.constantFrom(true, false, null, undefined));
const cosmosValues = fc.array(cosmosValue, { maxLength: 5 });
const cosmosVersion = fc.constantFrom('v1' as const, 'v2' as const, 'multi-hash' as const);
const cosmosRange = fc.record({ id: text, min: text, max: text });
const hubsRule = fc.constantFrom('javascript' as const, 'python' as const, 'iot-edge' as const);
const redisKey = fc.oneof(text, bytes);
const slotRange = fc.record({ server: text, from: number, to: number });
const redisScheme: fc.Arbitrary<placement.RedisScheme> = fc.oneof(
  fc.record({
    kind: fc.constant('ring' as const),
    points: fc.array(fc.record({ at: number, server: text }), { maxLength: 4 }),
  }),
  fc.record({ kind: fc.constant('slots' as const), ranges: fc.array(slotRange, { maxLength: 4 }) }),
  fc.record({ kind: fc.constant('proxy' as const), proxies: texts }),
);
const busMessage = fc.record({
  sessionId: maybe(text),
  partitionKey: maybe(text),
  messageId: maybe(text),
});
const busEntity = fc.record({ isPartitioned: fc.boolean(), detectsDuplicates: fc.boolean() });
const fabricScheme: fc.Arbitrary<placement.FabricScheme> = fc.oneof(
  fc.constant({ kind: 'singleton' as const }),
  fc.record({ kind: fc.constant('named' as const), names: texts }),
  fc.record({ kind: fc.constant('int64' as const), low: bigint, high: bigint, count: number }),
);
const fabricKey: fc.Arbitrary<placement.FabricKey> = fc.oneof(
  fc.constant({ kind: 'none' as const }),
  fc.record({ kind: fc.constant('name' as const), name: text }),
  fc.record({ kind: fc.constant('int64' as const), key: bigint }),
);
const sqlKey: fc.Arbitrary<placement.SqlShardKey> = fc.oneof(
  number.map((value) => ({ type: 'int' as const, value })),
  fc
    .tuple(fc.constantFrom('bigint' as const, 'timeSpan' as const), bigint)
    .map(([type, value]) => ({ type, value })),
  text.map((value) => ({ type: 'guid' as const, value })),
  bytes.map((value) => ({ type: 'binary' as const, value })),
  fc
    .tuple(fc.constantFrom('dateTime' as const, 'dateTimeOffset' as const), date)
    .map(([type, value]) => ({ type, value })),
);
const keyed: fc.Arbitrary<placement.KeyedRouting<number>> = fc.oneof(
  fc.record({
    kind: fc.constant('list' as const),
    keys: fc.array(fc.tuple(number, text), { maxLength: 4 }),
  }),
  fc.array(fc.tuple(maybe(number), text), { maxLength: 4 }).map((all) => ({
    kind: 'range' as const,
    ranges: all.map(([from, shard]) => (from === undefined ? { shard } : { from, shard })),
  })),
  fc.tuple(texts, number).map(([shards, slots]) => ({ kind: 'hash' as const, shards, slots })),
);
const searchLoad = fc.record({
  documents: number,
  bytes: number,
  queryRate: number,
  hasReadSla: fc.boolean(),
});
const searchOptions = fc.record({ tier, limits: own });
const shards = fc.array(
  fc
    .tuple(text, texts, maybe(number))
    .map(([name, holds, lastMs]) =>
      lastMs === undefined ? { name, holds } : { name, holds, lastMs },
    ),
  { maxLength: 4 },
);
const limitQuery = fc
  .tuple(known, tier)
  .map(([{ system, name }, of]) => ({ system, name, tier: of }));
const address = {
  account: text,
  table: text,
  partitionKey: text,
  queue: text,
  container: text,
  name: text,
};
const write = fc.record({ partitionKey: text, rowKey: text, bytes: number });

/** A call of a function with drawn arguments. */
function call<A extends unknown[]>(
  run: (...given: A) => unknown,
  ...drawn: { [N in keyof A]: fc.Arbitrary<A[N]> }
): fc.Arbitrary<() => unknown> {
  return fc.tuple(...drawn).map((given) => () => run(...(given as A)));
}

const p = placement;
/** Every function of the package, each with all that its types allow. */
const calls: Readonly<Record<string, fc.Arbitrary<() => unknown>>> = {
  blobNameAdvice: call(p.blobNameAdvice, texts),
  blobPartitionKey: call(p.blobPartitionKey, fc.record(address)),
  bucketOf: call(p.bucketOf, text, number),
  busPin: call(p.busPin, busMessage, busEntity),
  busTransactionPin: call(p.busTransactionPin, fc.array(busMessage, { maxLength: 3 }), busEntity),
  cosmosKey: call(p.cosmosKey, cosmosVersion, cosmosValues),
  cosmosKeyFault: call(p.cosmosKeyFault, cosmosVersion, cosmosValues, own),
  cosmosPrefixRange: call(p.cosmosPrefixRange, cosmosValues),
  cosmosRangeOf: call(p.cosmosRangeOf, text, fc.array(cosmosRange, { maxLength: 3 })),
  dueBackups: call(p.dueBackups, figures, shards, number),
  differingLimits: call(p.differingLimits, known),
  eventHubsHash: call(p.eventHubsHash, text, hubsRule),
  eventHubsPartition: call(
    p.eventHubsPartition,
    fc.record({ partitionKey: maybe(text), partitionId: maybe(text) }),
    fc.record({ partitions: number, rule: hubsRule }),
  ),
  fabricKeyOf: call(p.fabricKeyOf, text, fc.constantFrom(32, 64)),
  fabricPartition: call(p.fabricPartition, fabricScheme, fabricKey),
  fabricRanges: call(p.fabricRanges, bigint, bigint, number),
  misplacedTexts: call(p.misplacedTexts, routing, names, names),
  groupFault: call(p.groupFault, fc.array(write, { maxLength: 4 }), own),
  hash32: call(p.hash32, text),
  hashRouting: call(p.hashRouting, texts, maybe(number)),
  hashedBlobName: call(p.hashedBlobName, text),
  isLargeBlock: call(p.isLargeBlock, number, fc.constantFrom('standard', 'premium'), own),
  limitOf: call(p.limitOf, limitQuery, fc.constant([])),
  limitText: call(
    p.limitText,
    fc.tuple(known, number).map(([of, value]) => withFigure(of, value, of.tier)),
  ),
  listRouting: call(p.listRouting, names, maybe(text)),
  queueOfKey: call(p.queueOfKey, text, texts),
  queuePartitionKey: call(p.queuePartitionKey, fc.record(address)),
  queuesFor: call(p.queuesFor, number, own),
  rangeRouting: call(p.rangeRouting, fc.array(range, { maxLength: 5 })),
  redisHashTag: call(p.redisHashTag, redisKey),
  redisRing: call(p.redisRing, texts),
  redisSameSlot: call(p.redisSameSlot, fc.array(redisKey, { maxLength: 4 })),
  redisServer: call(p.redisServer, redisKey, redisScheme),
  redisSlot: call(p.redisSlot, redisKey),
  redisSlotRanges: call(p.redisSlotRanges, texts),
  regionalRouting: call(p.regionalRouting, names, names, maybe(text)),
  routingFault: call(p.routingFault, routing),
  searchCapacity: call(p.searchCapacity, searchLoad, searchOptions),
  searchPairs: call(p.searchPairs, searchOptions),
  secondsFirst: call(p.secondsFirst, date),
  shardKeyText: call((value: number) => p.shardKeyText('int', value), number),
  shardOfText: call(p.shardOfText, routing, text),
  shardsOf: call(p.shardsOf, routing),
  sqlServerGuidText: call(p.sqlServerGuidText, text),
  sqlShardText: call(p.sqlShardText, sqlKey),
  sqlShardsFor: call(p.sqlShardsFor, figures, figures),
  tablePartitionKey: call(p.tablePartitionKey, fc.record(address)),
  tableSpread: call(p.tableSpread, fc.record({ rate: number, bytes: number }), own),
  typedRouting: call(
    (given: placement.KeyedRouting<number>) => p.typedRouting('int', given),
    keyed,
  ),
  withRange: call(
    p.withRange,
    ofKind('range'),
    fc
      .tuple(text, maybe(text))
      .map(([from, before]) => (before === undefined ? { from } : { from, before })),
    text,
  ),
  withShardAdded: call(p.withShardAdded, ofKind('hash'), text),
  withShardRemoved: call(p.withShardRemoved, ofKind('hash'), text),
  withShardReplaced: call(p.withShardReplaced, routing, text, text),
  withTexts: call(p.withTexts, ofKind('list'), texts, text),
};

/** The position of an invalid number in a result. */
function oddNumbers(result: unknown, at = 'result'): readonly string[] {
  if (typeof result === 'number') return Number.isFinite(result) ? [] : [`${at} is ${result}`];
  if (typeof result !== 'object' || result === null || ArrayBuffer.isView(result)) return [];
  const entries = result instanceof Map ? [...result] : Object.entries(result);
  return entries.flatMap(([name, value]) => oddNumbers(value, `${at}.${String(name)}`));
}

describe('placement is total', () => {
  it('is probed with every function that it exports', () => {
    const exported = Object.entries(placement).filter(([, each]) => typeof each === 'function');
    assert.deepEqual(exported.map(([name]) => name).toSorted(), Object.keys(calls).toSorted());
  });

  for (const [name, drawn] of Object.entries(calls)) {
    it(`${name} throws nothing and makes up no figure`, () => {
      fc.assert(
        fc.property(drawn, (run) => {
          assert.deepEqual(oddNumbers(run()), []);
        }),
        { numRuns: byLength({ short: 60, long: 2000 }) },
      );
    });
  }
});
