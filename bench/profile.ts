import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The parts of a `.cpuprofile` that are read here. */
interface CpuProfile {
  readonly nodes: readonly ProfileNode[];
  readonly samples: readonly number[];
  /** Microseconds since the sample before. */
  readonly timeDeltas: readonly number[];
}

interface ProfileNode {
  readonly id: number;
  readonly callFrame: {
    readonly functionName: string;
    readonly url: string;
    readonly lineNumber: number;
  };
}

export interface SelfTime {
  readonly name: string;
  readonly micros: number;
}

const idleNames = new Set(['(idle)', '(root)']);

function frameName({ callFrame }: ProfileNode, root: string): string {
  const place = callFrame.url.startsWith('file:')
    ? fileURLToPath(callFrame.url).replace(root, '')
    : callFrame.url;
  const line = callFrame.lineNumber < 0 ? '' : `:${callFrame.lineNumber + 1}`;
  return `${callFrame.functionName || '(anonymous)'} ${place}${place === '' ? '' : line}`.trim();
}

/** Time spent in each function itself, without what it called; most first. Idle time is left out. */
export function selfTimes(profile: CpuProfile, root: string): readonly SelfTime[] {
  const names = new Map(profile.nodes.map((node) => [node.id, frameName(node, root)]));
  const totals = new Map<string, number>();
  profile.samples.forEach((id, index) => {
    const name = names.get(id) ?? '(unknown)';
    totals.set(name, (totals.get(name) ?? 0) + (profile.timeDeltas[index] ?? 0));
  });
  return [...totals]
    .filter(([name]) => !idleNames.has(name))
    .map(([name, micros]) => ({ name, micros }))
    .toSorted((left, right) => right.micros - left.micros);
}

/** A Markdown table of the functions that take the most time, over all profiles in a directory. */
export function profileTable(directory: string, rows: number): string {
  const root = fileURLToPath(new URL('../../', import.meta.url));
  const lines: string[] = [];
  for (const file of readdirSync(directory).filter((name) => name.endsWith('.cpuprofile'))) {
    const profile = JSON.parse(readFileSync(join(directory, file), 'utf8')) as CpuProfile;
    const times = selfTimes(profile, root);
    const total = times.reduce((sum, one) => sum + one.micros, 0);
    lines.push(`${file}: ${Math.round(total / 1000)} ms busy`, '', '| self ms | % | function |');
    lines.push('| ---: | ---: | --- |');
    for (const { name, micros } of times.slice(0, rows)) {
      const share = ((100 * micros) / total).toFixed(1);
      lines.push(`| ${(micros / 1000).toFixed(0)} | ${share} | ${name} |`);
    }
    lines.push('');
  }
  return lines.join('\n');
}
