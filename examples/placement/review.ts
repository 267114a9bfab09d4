import { reviewPlacement } from 'tabularium/modeling/advisor';

// The checklists of the guidance, asked of a design.

const findings = reviewPlacement({
  shards: [
    { name: 'A-G', requestsPerSecond: 900, holds: ['critical', 'transient'] },
    { name: 'H-Z', requestsPerSecond: 1200, largestTenant: 0.4 },
  ],
  key: { type: 'text', values: 5000, by: 'first-letter' },
  growth: 2,
  shardTargets: { requestsPerSecond: 2000 },
  queries: [{ name: 'orders of a day', perSecond: 3, hasKey: false }],
  queues: [{ name: 'orders', messagesPerSecond: 2500, areas: 1 }],
  answers: { backupPlan: 'yes', integrityJob: 'unknown' },
});
for (const { severity, id, subject, problem, source } of findings) {
  console.log(
    `${severity} ${id}, ${subject}: ${problem}${source === undefined ? '' : ` ${source}`}`,
  );
}
