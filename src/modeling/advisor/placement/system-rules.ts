import type { KnownLimit } from '../../../placement/limits/known-limit.js';
import { limitDates, limitOf } from '../../../placement/limits/known-limits.js';
import { redisSameSlot } from '../../../placement/systems/redis.js';
import { searchPairs } from '../../../placement/systems/search.js';
import { busPin, busTransactionPin } from '../../../placement/systems/service-bus.js';
import type { SystemFacts } from './design.js';
import {
  excessOf,
  overLimit,
  remarkIf,
  remarkOn,
  type PlacementRule,
  type Remark,
} from './placement-rule.js';

/** Tiers of Event Hubs whose hubs can get more partitions, by the documentation. */
const growingHubs: ReadonlySet<string> = new Set(['premium', 'dedicated']);

type BusFacts = NonNullable<SystemFacts['serviceBus']>;

export const systemRules: readonly PlacementRule[] = [
  {
    id: 'servicebus-pin',
    severity: 'info',
    guidance: ['SB1'],
    advice: 'Send without a session and a partition key: then another partition can take it.',
    remarks: ({ systems: { serviceBus } = {} }) => {
      const { needsNoOrder = false, message, entity } = serviceBus ?? {};
      if (message === undefined || entity === undefined) return [];
      const pin = busPin(message, entity);
      return remarkIf(needsNoOrder && pin.kind === 'pinned' && pin.by !== 'messageId', () => ({
        subject: 'Service Bus',
        problem: 'Messages that need no order are pinned, and fail when their partition is down.',
        figures: { by: pin.kind === 'pinned' ? pin.by : '' },
      }));
    },
  },
  {
    id: 'servicebus-transaction',
    severity: 'error',
    guidance: ['SB2', 'SB3'],
    advice: 'Give all messages of a transaction the same key, and one session at most.',
    remarks: ({ systems: { serviceBus } = {} }) => {
      const { transaction, entity, transactionTargets: targets = 1 } = serviceBus ?? {};
      const several = remarkIf(targets > 1, () => ({
        subject: 'Service Bus',
        problem: `A transaction sends to ${targets} queues or topics, and can send to one.`,
        figures: { targets },
      }));
      if (transaction === undefined || entity === undefined) return several;
      const pin = busTransactionPin(transaction, entity);
      return pin.kind !== 'refused'
        ? several
        : [
            ...several,
            { subject: 'Service Bus', problem: pin.message, figures: { reason: pin.reason } },
          ];
    },
  },
  {
    id: 'servicebus-namespace',
    severity: 'error',
    guidance: ['SB4', 'SB5'],
    advice: 'Add a namespace, of each region for example; or do not partition what needs the rest.',
    remarks: ({ systems: { serviceBus } = {} }, own) => {
      const entities = limitOf({ system: 'service-bus', name: 'partitioned-entities' }, own);
      return overLimit('Service Bus', serviceBus?.partitionedEntities ?? 0, entities);
    },
  },
  {
    id: 'servicebus-partitioned',
    severity: 'warning',
    guidance: ['SB6', 'SB7', 'SB8'],
    advice: 'Do not partition this queue or topic, or do without what a partitioned one lacks.',
    remarks: ({ systems: { serviceBus } = {} }, own) =>
      serviceBus?.entity.isPartitioned === true ? lacksOf(serviceBus, own) : [],
  },
  {
    id: 'eventhub-count',
    severity: 'error',
    guidance: ['EH1', 'EH3', 'EH4'],
    advice: 'Create the hub with the partitions of later; or several hubs.',
    remarks: ({ systems: { eventHubs } = {} }, own) => {
      if (eventHubs === undefined) return [];
      const { partitions, partitionsLater = partitions, tier = 'standard', units } = eventHubs;
      const needed = growingHubs.has(tier) ? Math.max(partitions, partitionsLater) : partitions;
      const ofHub = limitOf({ system: 'event-hubs', name: 'partitions', tier }, own);
      const ofUnit = limitOf({ system: 'event-hubs', name: 'partitions-of-unit', tier }, own);
      const isOverUnits =
        units !== undefined && ofUnit !== undefined && needed > units * ofUnit.value;
      const limit = isOverUnits ? ofUnit : ofHub;
      const isFewer = partitionsLater > needed;
      const isBeyond = isOverUnits || (limit !== undefined && needed > limit.value);
      return remarkIf(isFewer || isBeyond, () => ({
        subject: 'Event Hubs',
        problem: isBeyond
          ? `${needed} partitions are more than the tier has.`
          : `${partitionsLater} partitions will be needed; there are ${partitions} for ever.`,
        figures: { partitions, partitionsLater },
        limit: isBeyond ? limit : undefined,
      }));
    },
  },
  {
    id: 'eventhub-unit-rate',
    severity: 'error',
    guidance: ['EH2'],
    advice: 'Add throughput units, or a namespace.',
    remarks: (design, own) => {
      const { eventHubs } = design.systems ?? {};
      if (eventHubs?.units === undefined) return [];
      const { units, tier = 'standard' } = eventHubs;
      const names = {
        'unit-bytes-in': eventHubs.bytesIn,
        'unit-events-in': eventHubs.eventsIn,
        'unit-bytes-out': eventHubs.bytesOut,
        'unit-events-out': eventHubs.eventsOut,
      };
      return Object.entries(names).flatMap(([name, value = 0]) => {
        const limit = limitOf({ system: 'event-hubs', name, tier }, own);
        const excess = excessOf(value, units * (limit?.value ?? Infinity), design);
        return remarkOn(excess, ({ value: high, isNow }) => ({
          subject: 'Event Hubs',
          problem: `${high} ${limit?.unit} ${isNow ? 'are' : 'will be'} more than ${units} units carry.`,
          figures: { value: high, units },
          limit,
        }));
      });
    },
  },
  {
    id: 'eventhub-fixed-partition',
    severity: 'warning',
    guidance: ['EH5'],
    advice: 'Send with a partition key, or with neither.',
    remarks: ({ systems: { eventHubs } = {} }) =>
      remarkIf(eventHubs?.sendsToPartitionId === true, () => ({
        subject: 'Event Hubs',
        problem: 'Senders choose partitions by id, and fail when that one is down.',
        figures: {},
      })),
  },
  {
    id: 'eventhub-mixed-hash',
    severity: 'error',
    guidance: ['EH5'],
    advice: 'Let all senders use clients with the same rule, or send the key as a property too.',
    remarks: ({ systems: { eventHubs } = {} }) => {
      const rules = new Set(eventHubs?.rules);
      return remarkIf(rules.size > 1, () => ({
        subject: 'Event Hubs',
        problem: `Senders use ${[...rules].join(' and ')}, which place some keys differently.`,
        figures: { rules: rules.size },
      }));
    },
  },
  {
    id: 'cosmos-logical-size',
    severity: 'error',
    guidance: ['C1', 'C2'],
    advice: 'Use a hierarchical key whose last level is unique, or a longer key.',
    remarks: (design, own) => {
      const limit = limitOf({ system: 'cosmos-db', name: 'logical-partition-bytes' }, own);
      const today = design.systems?.cosmosDb?.largestLogicalBytes ?? 0;
      const excess = excessOf(today, limit?.value ?? Infinity, design);
      return remarkOn(excess, ({ value: bytes, isNow }) => ({
        subject: 'Cosmos DB',
        problem: `A logical partition ${isNow ? 'has' : 'will have'} ${bytes} bytes.`,
        figures: { bytes },
        limit,
      }));
    },
  },
  {
    id: 'cosmos-rate',
    severity: 'error',
    guidance: ['C2'],
    advice: 'Choose a key with more values, or deal documents to collections or accounts yourself.',
    remarks: (design, own) => {
      const limit = limitOf({ system: 'cosmos-db', name: 'logical-partition-rate' }, own);
      const rate = design.systems?.cosmosDb?.busiestLogicalRate ?? 0;
      return overLimit('logical partition', rate, limit, design);
    },
  },
  {
    id: 'cosmos-id-length',
    severity: 'error',
    guidance: ['C3'],
    advice: 'Use a shorter id, such as a hash, and keep the long one as a property.',
    remarks: ({ systems: { cosmosDb } = {} }, own) => {
      const limit = limitOf({ system: 'cosmos-db', name: 'id-characters' }, own);
      return overLimit('id of a document', cosmosDb?.longestId ?? 0, limit);
    },
  },
  {
    id: 'cosmos-v1-prefix',
    severity: 'warning',
    guidance: ['C1'],
    advice: 'Make a new container, which hashes whole keys, and move to it.',
    remarks: ({ systems: { cosmosDb } = {} }, own) => {
      const limit = limitOf({ system: 'cosmos-db', name: 'key-characters', tier: 'v1' }, own);
      const length = cosmosDb?.longestKey ?? 0;
      return remarkIf(cosmosDb?.version === 'v1' && length > (limit?.value ?? Infinity), () => ({
        subject: 'Cosmos DB',
        problem: `Keys have up to ${length} characters; those that differ later share a partition.`,
        figures: { length },
        limit,
      }));
    },
  },
  {
    id: 'redis-crossslot',
    severity: 'error',
    guidance: ['R1'],
    advice: 'Give keys that go together the same part in braces, as in {customer:7}:orders.',
    remarks: ({ systems: { redis } = {} }) =>
      (redis?.together ?? []).flatMap((keys) => {
        const slot = redisSameSlot(keys);
        return slot.kind !== 'refused'
          ? []
          : [{ subject: 'Redis', problem: slot.message, figures: { keys: keys.length } }];
      }),
  },
  {
    id: 'redis-durable',
    severity: 'error',
    guidance: ['R3'],
    advice: 'Keep the data in a store as well; a cache may lose them.',
    remarks: ({ systems: { redis } = {} }) =>
      remarkIf(redis?.isOnlyCopy === true, () => ({
        subject: 'Redis',
        problem: 'It has the only copy of data.',
        figures: {},
      })),
  },
  {
    id: 'redis-size',
    severity: 'error',
    guidance: ['R4', 'R5', 'R11'],
    advice: 'Use several caches, or keep less of it and for a shorter time; leave room to grow.',
    remarks: (design, own) => {
      const { bytes = 0, largestValueBytes = 0, longestKeyBytes = 0 } = design.systems?.redis ?? {};
      const most = (name: string) => limitOf({ system: 'redis', name }, own);
      return [
        ...overLimit('cache', bytes, most('cache-bytes'), design),
        ...overLimit('value', largestValueBytes, most('value-bytes')),
        ...overLimit('key', longestKeyBytes, most('key-bytes')),
      ];
    },
  },
  {
    id: 'redis-transaction',
    severity: 'warning',
    guidance: ['R6'],
    advice: 'Write what belongs together in one script or one hash, and check before writing.',
    remarks: ({ systems: { redis } = {} }) =>
      remarkIf(redis?.needsRollBack === true, () => ({
        subject: 'Redis',
        problem: 'A transaction goes on after a command that fails, and takes nothing back.',
        figures: {},
      })),
  },
  {
    id: 'redis-ring',
    severity: 'warning',
    guidance: ['R2', 'R10'],
    advice: 'Use slots or a ring: one more of n servers then moves one key in n + 1.',
    remarks: ({ systems: { redis } = {} }) =>
      remarkIf(redis?.isModulo === true && redis.grows === true, () => ({
        subject: 'Redis',
        problem: 'Servers are chosen modulo a number that grows: then nearly all keys move.',
        figures: {},
      })),
  },
  {
    id: 'search-units',
    severity: 'error',
    guidance: ['AS1', 'AS2'],
    advice: 'Take one of searchPairs(), or several services.',
    remarks: ({ systems: { search } = {} }, own) => {
      if (search === undefined) return [];
      const { partitions, replicas, tier = 'standard' } = search;
      const limit = limitOf({ system: 'search', name: 'units', tier }, own);
      const pairs = searchPairs({ tier, limits: own });
      const isLegal = pairs.some(
        (pair) => pair.partitions === partitions && pair.replicas === replicas,
      );
      const indexes = limitOf({ system: 'search', name: 'indexes', tier }, own);
      return [
        ...remarkIf(!isLegal && limit !== undefined, () => ({
          subject: 'Azure Search',
          problem: `${partitions} partitions with ${replicas} replicas cannot be had.`,
          figures: { partitions, replicas },
          limit,
        })),
        ...overLimit('Azure Search', search.indexes ?? 0, indexes),
      ];
    },
  },
  {
    id: 'fabric-count-fixed',
    severity: 'warning',
    guidance: ['SF1'],
    advice: 'Create the service with the partitions of later: nodes can hold several.',
    remarks: ({ systems: { serviceFabric } = {} }) => {
      if (serviceFabric === undefined) return [];
      const { partitions, partitionsLater } = serviceFabric;
      return remarkIf(partitionsLater > partitions, () => ({
        subject: 'Service Fabric',
        problem: `${partitionsLater} partitions will be needed; there are ${partitions} for ever.`,
        figures: { partitions, partitionsLater },
      }));
    },
  },
];

/** The demands of the design that a partitioned queue or topic does not meet. */
function lacksOf(
  { sendTimeoutSeconds = Infinity, peeksForOldest, deletesWhenIdle, usesAmqp }: BusFacts,
  own: readonly KnownLimit[],
): readonly Remark[] {
  const timeout = limitOf({ system: 'service-bus', name: 'send-timeout' }, own);
  const lacks = (isAsked: boolean | undefined, problem: string): readonly Remark[] =>
    remarkIf(isAsked === true, () => ({ subject: 'Service Bus', problem, figures: {} }));
  return [
    ...remarkIf(sendTimeoutSeconds <= (timeout?.value ?? 0), () => ({
      subject: 'Service Bus',
      problem: `Senders wait ${sendTimeoutSeconds} s, too short to try another partition.`,
      figures: { sendTimeoutSeconds },
      limit: timeout,
    })),
    ...lacks(peeksForOldest, 'Peeking shows the oldest message of one partition.'),
    ...lacks(deletesWhenIdle, 'A partitioned one is not deleted when it is idle.'),
    ...lacks(
      usesAmqp,
      `By the guidance (${limitDates.guidance}) a partitioned one cannot be used by AMQP.`,
    ),
  ];
}
