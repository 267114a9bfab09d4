import { limitOf } from '../../../placement/limits/known-limits.js';
import { overLimit, remarkIf, type PlacementRule } from './placement-rule.js';

/** The busiest shard has more than this times the quietest. */
const heatFactor = 10;
const figuresOfShards = ['requestsPerSecond', 'bytes', 'connections', 'bytesPerSecond'] as const;

export const placementLoadRules: readonly PlacementRule[] = [
  {
    id: 'shard-over-target',
    severity: 'error',
    advice: 'Split the shard, or add one and let it take its share.',
    remarks: ({ shards = [], shardTargets = {}, growth = 1 }) =>
      shards.flatMap((shard) =>
        figuresOfShards.flatMap((name) => {
          const value = (shard[name] ?? 0) * growth;
          const target = shardTargets[name] ?? Infinity;
          return remarkIf(value > target, () => ({
            subject: `shard '${shard.name}'`,
            problem: `${name} will be ${value}; one shard carries ${target}.`,
            figures: { figure: name, value, target },
          }));
        }),
      ),
  },
  {
    id: 'hot-and-cold-shard',
    severity: 'warning',
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
    advice: 'Use several queues, and choose one by the key of the message (queueOfKey).',
    remarks: ({ queues = [] }, own) => {
      const limit = limitOf({ system: 'queue', name: 'queue-rate' }, own);
      return queues
        .filter(({ messagesPerSecond }) => messagesPerSecond > (limit?.value ?? Infinity))
        .map(({ name, messagesPerSecond }) => ({
          subject: `queue '${name}'`,
          problem: `It gets ${messagesPerSecond} messages/s.`,
          figures: { messagesPerSecond },
          limit,
        }));
    },
  },
  {
    id: 'queue-shared-by-areas',
    severity: 'info',
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
    advice: 'Go one level up: from databases to servers, from accounts to subscriptions.',
    remarks: ({ accounts = 0, databases = 0 }, own) => [
      ...overLimit(
        'accounts',
        accounts,
        limitOf({ system: 'storage-account', name: 'accounts' }, own),
      ),
      ...overLimit('databases', databases, limitOf({ system: 'sql', name: 'databases' }, own)),
    ],
  },
  {
    id: 'blob-rate',
    severity: 'error',
    advice: 'Write to several blobs and join them later; let copies or a content network be read.',
    remarks: ({ blobs = [] }, own) => {
      const rate = limitOf({ system: 'blob', name: 'blob-rate' }, own);
      const bytes = limitOf({ system: 'blob', name: 'blob-bytes' }, own);
      return blobs.flatMap(({ name, requestsPerSecond, bytesPerSecond = 0 }) => [
        ...overLimit(`blob '${name}'`, requestsPerSecond, rate),
        ...overLimit(`blob '${name}'`, bytesPerSecond, bytes),
      ]);
    },
  },
];
