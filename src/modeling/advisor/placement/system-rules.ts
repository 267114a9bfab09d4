import { limitOf } from '../../../placement/limits/known-limits.js';
import { redisSameSlot } from '../../../placement/systems/redis.js';
import { searchPairs } from '../../../placement/systems/search.js';
import { busPin, busTransactionPin } from '../../../placement/systems/service-bus.js';
import { remarkIf, type PlacementRule } from './placement-rule.js';

export const systemRules: readonly PlacementRule[] = [
  {
    id: 'servicebus-pin',
    severity: 'info',
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
    advice: 'Give all messages of a transaction the same key, and one session at most.',
    remarks: ({ systems: { serviceBus } = {} }) => {
      const { transaction, entity } = serviceBus ?? {};
      if (transaction === undefined || entity === undefined) return [];
      const pin = busTransactionPin(transaction, entity);
      return pin.kind !== 'refused'
        ? []
        : [{ subject: 'Service Bus', problem: pin.message, figures: { reason: pin.reason } }];
    },
  },
  {
    id: 'eventhub-count',
    severity: 'error',
    advice: 'Create the hub with the partitions of later; or several hubs.',
    remarks: ({ systems: { eventHubs } = {} }, own) => {
      if (eventHubs === undefined) return [];
      const { partitions, partitionsLater = partitions, tier = 'standard' } = eventHubs;
      const limit = limitOf({ system: 'event-hubs', name: 'partitions', tier }, own);
      const isFewer = partitionsLater > partitions;
      const isBeyond = limit !== undefined && partitions > limit.value;
      return remarkIf(isFewer || isBeyond, () => ({
        subject: 'Event Hubs',
        problem: isBeyond
          ? `${partitions} partitions are more than the tier has.`
          : `${partitionsLater} partitions will be needed; there are ${partitions} for ever.`,
        figures: { partitions, partitionsLater },
        limit: isBeyond ? limit : undefined,
      }));
    },
  },
  {
    id: 'eventhub-fixed-partition',
    severity: 'warning',
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
    advice: 'Use a hierarchical key whose last level is unique, or a longer key.',
    remarks: ({ systems: { cosmosDb } = {} }, own) => {
      const limit = limitOf({ system: 'cosmos-db', name: 'logical-partition-bytes' }, own);
      const bytes = cosmosDb?.largestLogicalBytes ?? 0;
      return remarkIf(bytes > (limit?.value ?? Infinity), () => ({
        subject: 'Cosmos DB',
        problem: `A logical partition has ${bytes} bytes.`,
        figures: { bytes },
        limit,
      }));
    },
  },
  {
    id: 'cosmos-v1-prefix',
    severity: 'warning',
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
    advice: 'Keep the data in a store as well; a cache may lose them.',
    remarks: ({ systems: { redis } = {} }) =>
      remarkIf(redis?.isOnlyCopy === true, () => ({
        subject: 'Redis',
        problem: 'It has the only copy of data.',
        figures: {},
      })),
  },
  {
    id: 'redis-ring',
    severity: 'warning',
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
    advice: 'Take one of searchPairs(), or several services.',
    remarks: ({ systems: { search } = {} }, own) => {
      if (search === undefined) return [];
      const { partitions, replicas, tier = 'standard' } = search;
      const limit = limitOf({ system: 'search', name: 'units', tier }, own);
      const pairs = searchPairs({ tier, limits: own });
      const isLegal = pairs.some(
        (pair) => pair.partitions === partitions && pair.replicas === replicas,
      );
      return remarkIf(!isLegal, () => ({
        subject: 'Azure Search',
        problem: `${partitions} partitions with ${replicas} replicas cannot be had.`,
        figures: { partitions, replicas },
        limit,
      }));
    },
  },
  {
    id: 'fabric-count-fixed',
    severity: 'warning',
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
