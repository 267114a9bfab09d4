import { crowd, stallText, type Effect, type Finding } from './measuring.js';
import type { SilentEffect } from './silent-clients.js';

/** The measurements as tables of Markdown. */
export function findingsTable(findings: readonly Finding[]): string {
  const numbers = (effect: Effect): string =>
    `${effect.turnMs.toFixed(0)} | ${stallText(effect)} | ${effect.memoryMb.toFixed(1)}`;
  const rows = findings.map(({ request, alone, together }) => {
    const statuses = [...new Set([...alone.statuses, ...together.statuses])]
      .sort((one, other) => one - other)
      .join(', ');
    return `| ${request.operation} | ${request.what} | ${statuses} | ${numbers(alone)} | ${numbers(together)} |`;
  });
  return [
    `| operation or credential | what is hostile | status | turn, ms | stall, ms | memory, MB | turn of ${crowd}, ms | stall of ${crowd}, ms | memory of ${crowd}, MB |`,
    '| --- | --- | --- | --- | --- | --- | --- | --- | --- |',
    ...rows,
  ].join('\n');
}

export function silentTable(effects: readonly SilentEffect[]): string {
  return [
    '| clients | what each does | turn, ms | stall, ms | memory, MB |',
    '| --- | --- | --- | --- | --- |',
    ...effects.map(
      (effect) =>
        `| ${effect.count} | ${effect.what} | ${effect.turnMs.toFixed(0)} | ${stallText(effect)} | ${effect.memoryMb.toFixed(0)} |`,
    ),
  ].join('\n');
}
