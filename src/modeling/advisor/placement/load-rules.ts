import { limitOf } from '../../../placement/limits/known-limits.js';
import { figuresOfShards } from './design.js';
import { excessOf, overLimit, remarkIf, remarkOn, type PlacementRule } from './placement-rule.js';

/** The busiest shard has more than this times the quietest. */
const heatFactor = 10;

export const placementLoadRules: readonly PlacementRule[] = [
  {
    id: 'shard-over-target',
    severity: 'error',
    guidance: ['G4', 'G19', 'G20', 'G62', 'G64'],
    advice: 'Split the shard, or add one and let it take its share.',
    remarks: (design) =>
      (design.shards ?? []).flatMap((shard) =>
        figuresOfShards.flatMap((name) => {
          const target = design.shardTargets?.[name] ?? Infinity;
          const excess = excessOf(shard[name] ?? 0, target, design);
          return remarkOn(excess, ({ value, isNow }) => ({
            subject: `shard '${shard.name}'`,
            problem: `${name} ${isNow ? 'is' : 'will be'} ${value}; one shard carries ${target}.`,
            figures: { figure: name, value, target },
          }));
        }),
      ),
  },
  {
    id: 'hot-and-cold-shard',
    severity: 'warning',
    guidance: ['G3', 'G69', 'SQL7'],
    advice: 'Move shardlets from the busy shard to the quiet one, or hash the key.',
    remarks: ({ shards = [] }) => {
      const rates = shards.map(({ requestsPerSecond }) => requestsPerSecond);
      const [hot, cold] = [Math.max(...rates), Math.min(...rates)];
      return remarkIf(shards.length > 1 && hot > heatFactor * Math.max(cold, 1), () => ({
        subject: 'shards',
        problem: `The busiest gets ${hot} requests/s, the quietest ${cold}.`,
        figures: { hot, cold },
      }));
    },
  },
  {
    id: 'queue-rate',
    severity: 'error',
    guidance: ['Q1'],
    advice: 'Use several queues, and choose one by the key of the message (queueOfKey).',
    remarks: (design, own) => {
      const limit = limitOf({ system: 'queue', name: 'queue-rate' }, own);
      return (design.queues ?? []).flatMap(({ name, messagesPerSecond }) => {
        const excess = excessOf(messagesPerSecond, limit?.value ?? Infinity, design);
        return remarkOn(excess, ({ value, isNow }) => ({
          subject: `queue '${name}'`,
          problem: `It ${isNow ? 'gets' : 'will get'} ${value} messages/s.`,
          figures: { messagesPerSecond: value },
          limit,
        }));
      });
    },
  },
  {
    id: 'queue-shared-by-areas',
    severity: 'info',
    guidance: ['Q1', 'Q2'],
    advice: 'Give each area a queue of its own: queues have no transactions to lose.',
    remarks: ({ queues = [] }) =>
      queues
        .filter(({ areas }) => areas > 1)
        .map(({ name, areas }) => ({
          subject: `queue '${name}'`,
          problem: `${areas} areas share it, so one of them can slow the others.`,
          figures: { areas },
        })),
  },
  {
    id: 'limit-of-level',
    severity: 'error',
    guidance: ['G22', 'G62', 'SQL14'],
    advice: 'Go one level up: from databases to servers, from accounts to subscriptions.',
    remarks: (design, own) => {
      const { accounts = 0, databases = 0 } = design;
      const ofSubscription = limitOf({ system: 'storage-account', name: 'accounts' }, own);
      const ofServer = limitOf({ system: 'sql', name: 'databases' }, own);
      return [
        ...overLimit('accounts', accounts, ofSubscription, design),
        ...overLimit('databases', databases, ofServer, design),
      ];
    },
  },
  {
    id: 'blob-rate',
    severity: 'error',
    guidance: ['B3', 'B7'],
    advice: 'Write to several blobs and join them later; let copies or a content network be read.',
    remarks: (design, own) => {
      const rate = limitOf({ system: 'blob', name: 'blob-rate' }, own);
      const bytes = limitOf({ system: 'blob', name: 'blob-bytes' }, own);
      const blobs = design.blobs ?? [];
      return blobs.flatMap(({ name, requestsPerSecond, bytesPerSecond = 0 }) => {
        const subject = `blob '${name}'`;
        const inRequests = overLimit(subject, requestsPerSecond, rate, design);
        return inRequests.concat(overLimit(subject, bytesPerSecond, bytes, design));
      });
    },
  },
];
