import type { Advice } from '../findings/advice.js';
import type { Distribution } from '../facts/distribution.js';
import { finding, type Finding } from '../findings/finding.js';

/** Facts that were measured on a part of the table, or assumed. */
export function measurementFindings({ workload, plans }: Advice): readonly Finding[] {
  const { partitions, properties = {} } = workload;
  const parts = [
    ...(isPart(partitions) ? ['PartitionKeys'] : []),
    ...Object.entries(properties)
      .filter(([, facts]) => isPart(facts?.values))
      .map(([name]) => `'${name}'`),
  ];
  const assumed = plans.filter(({ isAssumed }) => isAssumed);
  return [
    ...(parts.length === 0
      ? []
      : [finding('info', 'partial-measurement', 'distributions', { of: parts.join(', ') })]),
    ...assumed.map(({ name, accesses }) => {
      const rows = accesses.reduce((sum, { read }) => sum + read.expected, 0);
      return finding('info', 'reads-assumed', `operation '${name}'`, { rows });
    }),
  ];
}

function isPart(distribution: Distribution | undefined): boolean {
  return distribution?.kind === 'counts' && distribution.isWhole === false;
}
