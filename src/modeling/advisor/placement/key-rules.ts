import { blobNameAdvice } from '../../../placement/systems/blob.js';
import { figuresOfShards, type PlacementDesign, type ShardFacts } from './design.js';
import { excessOf, remarkIf, type PlacementRule } from './placement-rule.js';

/** Types of keys that a shard map has an order for. */
const keyTypes: readonly string[] =
  'text int bigint guid binary dateTime dateTimeOffset timeSpan'.split(' ');
/** A shard with more than this times the mean has a key that does not spread. */
const skewFactor = 2;
/** A tenant with more of a shard than this makes it be split sooner or later. */
const tenantShare = 1 / 4;
/** Hashes and letters even out only over several values for each shard. */
const valuesOfShard = 10;

function requestsOf(shards: readonly ShardFacts[]): number {
  return shards.reduce((sum, { requestsPerSecond }) => sum + requestsPerSecond, 0);
}

export const keyRules: readonly PlacementRule[] = [
  {
    id: 'shard-key-skew',
    severity: 'warning',
    guidance: ['G2', 'G3'],
    advice: 'Choose shards by a hash of the key, or by a key with more values.',
    remarks: ({ shards = [], key }) => {
      const mean = requestsOf(shards) / Math.max(1, shards.length);
      const skewed = shards
        .filter(({ requestsPerSecond }) => requestsPerSecond > skewFactor * mean)
        .map(({ name, requestsPerSecond }) => ({
          subject: `shard '${name}'`,
          problem: `It gets ${requestsPerSecond} requests/s; the mean is ${mean}.`,
          figures: { requestsPerSecond, mean },
        }));
      const first = remarkIf(key?.by === 'first-letter', () => ({
        subject: 'key',
        problem: 'Shards are chosen by first letters, and some are far more frequent than others.',
        figures: { values: key?.values ?? 0 },
      }));
      // A list or ranges give each value its shard on purpose: too few are those that leave a shard
      // empty.
      const least = (key?.by === 'value' ? 1 : valuesOfShard) * shards.length;
      const isCoarse = key !== undefined && shards.length > 1 && key.values < least;
      const few = remarkIf(isCoarse, () => ({
        subject: 'key',
        problem: `It has ${key?.values} values for ${shards.length} shards.`,
        figures: { values: key?.values ?? 0, shards: shards.length },
      }));
      return [...skewed, ...first, ...few];
    },
  },
  {
    id: 'split-foreseeable',
    severity: 'info',
    guidance: ['G6', 'G69', 'SQL2'],
    advice: 'Give the tenant a shard of its own now, by a list, or plan the split.',
    remarks: ({ shards = [] }) =>
      shards
        // A tenant that makes all of a shard has it for itself already.
        .filter(({ largestTenant = 0 }) => largestTenant > tenantShare && largestTenant < 1)
        .map(({ name, largestTenant = 0 }) => ({
          subject: `shard '${name}'`,
          problem: `One tenant makes ${Math.round(largestTenant * 100)} % of it.`,
          figures: { share: largestTenant },
        })),
  },
  {
    id: 'monotone-names',
    severity: 'warning',
    guidance: ['T7'],
    advice: 'Hash the key, or put a hash of three digits or the seconds first.',
    remarks: ({ key, blobNames = [] }) => {
      const isGrowing = key?.order === 'increasing' || key?.order === 'decreasing';
      const names = blobNameAdvice(blobNames);
      const isInOrder = names.kind === 'dates-first' || names.kind === 'numbers-first';
      return [
        ...remarkIf(isGrowing && key?.by !== 'hash', () => ({
          subject: 'key',
          problem: 'Each new value follows the last one, so all inserts come to one end.',
          figures: { order: key?.order ?? '' },
        })),
        ...remarkIf(isInOrder, () => ({
          subject: 'names of blobs',
          problem: names.advice,
          figures: { names: blobNames.length },
        })),
      ];
    },
  },
  {
    id: 'single-partition',
    severity: 'warning',
    guidance: ['T6'],
    advice: 'Put into the key what most queries know, such as the customer.',
    remarks: ({ key }) =>
      remarkIf(key?.values === 1, () => ({
        subject: 'key',
        problem: 'It has one value, so everything is in one partition on one server.',
        figures: { values: 1 },
      })),
  },
  {
    id: 'partition-per-entity',
    severity: 'warning',
    guidance: ['T6'],
    advice: 'Let related entities share the key, so that transactions and ranges have them.',
    remarks: ({ key, transactions = [], queries = [] }) => {
      const ranges = queries.filter(({ readsRange }) => readsRange === true);
      const asked = [
        ...transactions.map(({ name }) => `transaction '${name}'`),
        ...ranges.map(({ name }) => `query '${name}'`),
      ];
      return remarkIf(key?.isOfOneEntity === true && asked.length > 0, () => ({
        subject: 'key',
        problem: `Each entity is a partition, but several are asked for by ${asked.join(', ')}.`,
        figures: { transactions: transactions.length, ranges: ranges.length },
      }));
    },
  },
  {
    id: 'unsupported-key-type',
    severity: 'error',
    guidance: ['SQL10'],
    advice: `Use one of ${keyTypes.join(', ')}.`,
    remarks: ({ key }) =>
      remarkIf(key !== undefined && !keyTypes.includes(key.type), () => ({
        subject: 'key',
        problem: `A map has no order for keys of the type '${key?.type}'.`,
        figures: { type: key?.type ?? '' },
      })),
  },
  {
    id: 'partition-late',
    severity: 'warning',
    guidance: ['G19', 'G41', 'G64'],
    advice: 'Choose the key today, and begin with a map that has one shard.',
    remarks: (design) =>
      remarkIf(isLate(design), () => ({
        subject: 'shards',
        problem: 'There is one shard and no key, and the growth to plan for goes beyond it.',
        figures: { growth: design.growth ?? 1 },
      })),
  },
];

function isLate(design: PlacementDesign): boolean {
  const { shards = [], key, shardTargets = {} } = design;
  const [only] = shards;
  if (only === undefined || shards.length > 1 || key !== undefined) return false;
  return figuresOfShards.some((name) => {
    const target = shardTargets[name] ?? Infinity;
    return excessOf(only[name] ?? 0, target, design) !== undefined;
  });
}
