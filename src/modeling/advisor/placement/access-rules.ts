import { excessOf, remarkIf, remarkOn, type PlacementRule } from './placement-rule.js';

/** More often than this a query over all shards counts, in times a second. */
const fanOutRate = 1;

export const accessRules: readonly PlacementRule[] = [
  {
    id: 'fan-out-query',
    severity: 'warning',
    guidance: ['G25', 'T14'],
    advice: 'Keep an index table for what it knows, use another key, read in parallel, or cache.',
    remarks: ({ queries = [], shards = [] }) =>
      queries
        .filter(({ hasKey, perSecond, isCritical }) => {
          return !hasKey && shards.length > 1 && (perSecond > fanOutRate || isCritical === true);
        })
        .map(({ name, perSecond }) => ({
          subject: `query '${name}'`,
          problem: `It asks all ${shards.length} shards, ${perSecond} times a second.`,
          figures: { perSecond, shards: shards.length },
        })),
  },
  {
    id: 'slow-critical-query',
    severity: 'error',
    guidance: ['G24', 'G27', 'G65'],
    advice: 'Make its partitions smaller, or keep what it returns apart, in a view or a cache.',
    remarks: ({ queries = [] }) =>
      queries.flatMap(({ name, isCritical, targetMs = Infinity, expectedMs = 0 }) =>
        remarkIf(isCritical === true && expectedMs > targetMs, () => ({
          subject: `query '${name}'`,
          problem: `It takes ${expectedMs} ms and may take ${targetMs}.`,
          figures: { expectedMs, targetMs },
        })),
      ),
  },
  {
    id: 'reference-data-missing',
    severity: 'warning',
    guidance: ['G43', 'SQL18'],
    advice: 'Copy reference data to every shard; they change seldom.',
    remarks: ({ queries = [], shards = [] }) =>
      queries
        .filter(({ referenceData }) => referenceData === 'in-one-place' && shards.length > 1)
        .map(({ name, perSecond }) => ({
          subject: `query '${name}'`,
          problem: 'It looks reference data up elsewhere than on its shard.',
          figures: { perSecond },
        })),
  },
  {
    id: 'reference-data-hot',
    severity: 'error',
    guidance: ['G29', 'SQL18'],
    advice: 'Copy reference data to every shard, or keep them in memory.',
    remarks: (design) => {
      const today = (design.queries ?? [])
        .filter(({ referenceData }) => referenceData === 'in-one-place')
        .reduce((sum, query) => sum + query.perSecond, 0);
      const target = design.shardTargets?.requestsPerSecond ?? Infinity;
      return remarkOn(excessOf(today, target, design), ({ value, isNow }) => ({
        subject: 'reference data',
        problem:
          `They ${isNow ? 'are' : 'will be'} asked ${value} times a second in one place that ` +
          `carries ${target}.`,
        figures: { perSecond: value, target },
      }));
    },
  },
  {
    id: 'geo-far',
    severity: 'warning',
    guidance: ['G30', 'SQL20', 'C5'],
    advice: 'Place a shard, or a copy, in the region of its callers.',
    remarks: ({ queries = [], shards = [] }) => {
      const regions = new Set(shards.map(({ region }) => region));
      if (regions.size === 0 || regions.has(undefined)) return [];
      return queries
        .filter(({ region }) => region !== undefined && !regions.has(region))
        .map(({ name, region = '' }) => ({
          subject: `query '${name}'`,
          problem: `Its callers are in ${region}, where there is no shard.`,
          figures: { region },
        }));
    },
  },
  {
    id: 'geo-hash-mix',
    severity: 'warning',
    guidance: ['G30', 'SQL8'],
    advice: 'Choose the region by a list first, and hash within it.',
    remarks: ({ key, shards = [] }) => {
      const regions = new Set(
        shards.flatMap(({ region }) => (region === undefined ? [] : [region])),
      );
      return remarkIf(key?.by === 'hash' && regions.size > 1, () => ({
        subject: 'key',
        problem: `Hashed keys are dealt to ${regions.size} regions, far from whom they belong to.`,
        figures: { regions: regions.size },
      }));
    },
  },
  {
    id: 'cross-shard-transaction',
    severity: 'error',
    guidance: ['G42', 'G47', 'SQL17'],
    advice: 'Keep what it writes in one partition, or use an eventually consistent transaction.',
    remarks: ({ transactions = [] }) =>
      transactions
        .filter(({ shards }) => shards > 1)
        .map(({ name, shards }) => ({
          subject: `transaction '${name}'`,
          problem: `It writes to ${shards} shards, which have no transaction in common.`,
          figures: { shards },
        })),
  },
  {
    id: 'cross-shard-reference',
    severity: 'warning',
    guidance: ['G45', 'SQL6', 'SQL17'],
    advice: 'Copy what is referred to, or check references by a periodic job.',
    remarks: ({ references = [] }) =>
      references
        .filter(({ isChecked }) => !isChecked)
        .map(({ name, across }) => ({
          subject: `reference '${name}'`,
          problem: `It goes across ${across}, and nothing checks it.`,
          figures: { across },
        })),
  },
  {
    id: 'mixed-schema-map',
    severity: 'warning',
    guidance: ['SQL9'],
    advice: 'Use a map for each schema; several maps may use the same shards.',
    remarks: ({ schemasOfMap = 1 }) =>
      remarkIf(schemasOfMap > 1, () => ({
        subject: 'map',
        problem: `It leads to ${schemasOfMap} schemas, which no query over shards can read.`,
        figures: { schemas: schemasOfMap },
      })),
  },
  {
    id: 'replica-consistency',
    severity: 'warning',
    guidance: ['G40'],
    advice: 'Read what must be current from the source, or tell readers how old it may be.',
    remarks: ({ replicas }) =>
      remarkIf(replicas?.areReadFrom === true && !replicas.mayBeOld, () => ({
        subject: 'replicas',
        problem: 'They are read by those who need current data, and are behind for a while.',
        figures: {},
      })),
  },
];
