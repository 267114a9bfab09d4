import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { extraFile, requireExtra } from '../../../test/support/extras.js';
import { byLength, costly } from '../../../test/support/run-length.js';
import { cosmosKey, type CosmosValue, type CosmosVersion } from './cosmos-db.js';
import { eventHubsHash, eventHubsPartition } from './event-hubs.js';

// The rules compared with the computations of the official clients.

const eventHubs = extraFile('@azure/event-hubs/dist/commonjs/impl/partitionKeyToIdMapper.js');
const cosmos = extraFile('@azure/cosmos/dist/commonjs/utils/hashing');
const skip = existsSync(eventHubs) && existsSync(cosmos) ? false : 'run `npm run extras` again';

interface EventHubsClient {
  readonly hashPartitionKey: (key: string) => number;
  readonly mapPartitionKeyToId: (key: string, count: number) => number;
}

type CosmosHash = (values: readonly CosmosValue[]) => string;

/** Texts of every plane, lone surrogates among them, some of them long. */
const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.array(fc.nat(0xffff), { maxLength: 30 }).map((units) => String.fromCharCode(...units)),
  fc.string({ unit: 'grapheme', minLength: 95, maxLength: 105 }),
  fc.string({ unit: 'binary', minLength: 1000, maxLength: 3000 }),
);
const number = fc.double({ noNaN: true, noDefaultInfinity: true });
const value: fc.Arbitrary<CosmosValue> = fc.oneof(
  { weight: 4, arbitrary: text },
  number,
  fc.integer(),
  fc.constantFrom(true, false, null, undefined),
);
const numRuns = byLength({ short: 1000, long: 20_000 });

function keyOf(version: CosmosVersion, values: readonly CosmosValue[]): string {
  const key = cosmosKey(version, values);
  return key.kind === 'key' ? key.key : key.message;
}

describe('the rules of known systems, beside the official clients', { skip }, () => {
  it('place events as the client of Event Hubs does', () => {
    const client = requireExtra(eventHubs) as EventHubsClient;
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 1024 }), (partitionKey, partitions) => {
        assert.equal(eventHubsHash(partitionKey), client.hashPartitionKey(partitionKey));
        assert.deepEqual(eventHubsPartition({ partitionKey }, { partitions, rule: 'javascript' }), {
          kind: 'partition',
          partition: client.mapPartitionKeyToId(partitionKey, partitions),
          by: 'key',
        });
      }),
      { numRuns },
    );
  });

  it('make the effective keys that the client of Cosmos DB makes', costly(), () => {
    const load = (file: string, name: string): CosmosHash =>
      (requireExtra(`${cosmos}/${file}`) as Readonly<Record<string, CosmosHash>>)[name] ??
      (() => name);
    const v1 = load('v1.js', 'hashV1PartitionKey');
    const v2 = load('v2.js', 'hashV2PartitionKey');
    const multiHash = load('multiHash.js', 'hashMultiHashPartitionKey');
    fc.assert(
      fc.property(fc.array(value, { minLength: 1, maxLength: 3 }), (values) => {
        assert.equal(keyOf('v1', values.slice(0, 1)), v1(values.slice(0, 1)));
        assert.equal(keyOf('v2', values.slice(0, 1)), v2(values.slice(0, 1)));
        assert.equal(keyOf('multi-hash', values), multiHash(values));
      }),
      { numRuns },
    );
  });
});
