import { excessOf, remarkIf, remarkOn, type PlacementRule } from './placement-rule.js';
import type { FieldFacts, OperationAnswers } from './design.js';

/** Fields whose rates differ by more than this are better kept apart. */
const rateFactor = 10;
/** A field that changes less often than once in so many reads of another hardly disturbs it. */
const readsOfChange = 100;

export const shapeRules: readonly PlacementRule[] = [
  {
    id: 'vertical-split',
    severity: 'info',
    guidance: ['G9', 'G63'],
    advice: 'Keep fields that change often, and secret ones, in rows or accounts of their own.',
    remarks: ({ fields = [] }) => {
      const secret = fields.filter(({ isSecret }) => isSecret === true);
      const isWithOthers = secret.length < fields.length;
      const changing = fields.filter(({ writesPerSecond }) => writesPerSecond > 0);
      const dynamic = changing.filter((field) => isDynamic(field, fields));
      return [
        // A secret alone in its row is where it should be.
        ...(fields.length === 1 ? [] : secret).map(({ name }) => ({
          subject: `field '${name}'`,
          problem: isWithOthers
            ? 'It is secret, and read with fields that are not.'
            : 'It is secret, and who gets its row has the other secrets as well.',
          figures: {},
        })),
        ...dynamic.map(({ name, writesPerSecond }) => ({
          subject: `field '${name}'`,
          problem: `It changes ${writesPerSecond} times a second, in a row that else seldom does.`,
          figures: { writesPerSecond },
        })),
      ];
    },
  },
  {
    id: 'functional-split',
    severity: 'info',
    guidance: ['G14', 'G15'],
    advice: 'Give each area an account, and reports a copy or a view.',
    remarks: ({ areas = [] }) => {
      const accounts = [...new Set(areas.map(({ account }) => account))];
      return accounts.flatMap((account) => {
        const here = areas.filter((area) => area.account === account);
        const hasReports = here.some(({ isReport }) => isReport === true);
        return remarkIf(here.length > 1, () => ({
          subject: `account '${account}'`,
          problem:
            `${here.map(({ name }) => name).join(', ')} share it` +
            (hasReports ? ', reports among them.' : '.'),
          figures: { areas: here.length },
        }));
      });
    },
  },
  {
    id: 'mixed-criticality',
    severity: 'warning',
    guidance: ['G21', 'G33'],
    advice: 'Keep data of one criticality together, so that one schedule of backups fits them.',
    remarks: ({ shards = [] }) =>
      shards
        .filter(({ holds = [] }) => new Set(holds).size > 1 && holds.includes('critical'))
        .map(({ name, holds = [] }) => ({
          subject: `shard '${name}'`,
          problem: `It holds ${[...new Set(holds)].join(' and ')} data with one schedule.`,
          figures: {},
        })),
  },
  {
    id: 'no-replica-for-critical',
    severity: 'error',
    guidance: ['G39'],
    advice: 'Replicate the shard, by the redundancy of its account or copies of your own.',
    remarks: ({ shards = [] }) =>
      shards
        .filter(({ holds = [], hasReplica }) => holds.includes('critical') && hasReplica === false)
        .map(({ name }) => ({
          subject: `shard '${name}'`,
          problem: 'It holds critical data and has no replica.',
          figures: {},
        })),
  },
  {
    id: 'maintenance-window',
    severity: 'error',
    guidance: ['G27', 'G36', 'G37'],
    advice: 'Make partitions smaller, or the window longer.',
    remarks: (design) => {
      if (design.maintenance === undefined) return [];
      const { bytes, bytesPerSecond, windowSeconds } = design.maintenance;
      const excess = excessOf(bytes / bytesPerSecond, windowSeconds, design);
      return remarkOn(excess, ({ value: seconds, isNow }) => ({
        subject: 'maintenance',
        problem:
          `It ${isNow ? 'takes' : 'will take'} ${Math.ceil(seconds)} s, and ${windowSeconds} s ` +
          'are there.',
        figures: { seconds, windowSeconds },
      }));
    },
  },
  ...(
    [
      [
        'no-backup-plan',
        'backupPlan',
        ['G35'],
        'Plan backups of each shard by how critical its data are.',
      ],
      [
        'no-integrity-job',
        'integrityJob',
        ['G58'],
        'Run a job that finds orphans, and mends or alerts.',
      ],
      [
        'no-rebalance-plan',
        'rebalancePlan',
        ['G23'],
        'Decide when shards are split, and try it once.',
      ],
      ['no-bulk-loader', 'bulkLoader', ['G54'], 'Load through the map, as bulk() does.'],
      [
        'no-archive-policy',
        'archivePolicy',
        ['G56'],
        'Archive and delete by period, such as monthly.',
      ],
      ['no-monitoring', 'monitoring', ['G23'], 'Watch requests and sizes of each shard.'],
    ] as const
  ).map(([id, name, guidance, advice]) => operationRule({ id, name, guidance, advice })),
];

interface OperationRule extends Pick<PlacementRule, 'advice' | 'guidance' | 'id'> {
  readonly name: keyof OperationAnswers;
}

function isDynamic(field: FieldFacts, fields: readonly FieldFacts[]): boolean {
  const others = fields.filter((other) => other !== field);
  return others.some(
    ({ readsPerSecond, writesPerSecond }) =>
      readsPerSecond > 0 &&
      field.writesPerSecond > rateFactor * writesPerSecond &&
      field.writesPerSecond * readsOfChange > readsPerSecond,
  );
}

function operationRule({ name, ...rule }: OperationRule): PlacementRule {
  return {
    ...rule,
    severity: 'warning',
    remarks: ({ answers = {} }) => {
      const answer = answers[name];
      return remarkIf(answer === 'no' || answer === 'unknown', () => ({
        subject: 'operation',
        problem: answer === 'no' ? 'There is none.' : 'Nobody knows whether there is one.',
        figures: { answer: answer ?? '' },
      }));
    },
  };
}
