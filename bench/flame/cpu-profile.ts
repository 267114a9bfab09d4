import { fileURLToPath } from 'node:url';

/** The parts of a `.cpuprofile` that are read here. */
export interface CpuProfile {
  readonly nodes: readonly ProfileNode[];
  readonly samples: readonly number[];
  /** Microseconds since the sample before. */
  readonly timeDeltas: readonly number[];
}

/** A function as it was called by those above it. */
export interface ProfileNode {
  readonly id: number;
  readonly callFrame: CallFrame;
  /** The ids of what it called. */
  readonly children?: readonly number[];
}

export interface CallFrame {
  readonly functionName: string;
  readonly url: string;
  /** From 0; negative where there is no source. */
  readonly lineNumber: number;
}

/** Waiting is no work, and the root is no function. */
const idleNames = new Set(['(idle)', '(root)']);

export function isIdle({ functionName }: CallFrame): boolean {
  return idleNames.has(functionName);
}

/** A function and its place; files below `root` without it. */
export function frameName({ functionName, url, lineNumber }: CallFrame, root: string): string {
  const place = url.startsWith('file:') ? fileURLToPath(url).replace(root, '') : url;
  const line = lineNumber < 0 || place === '' ? '' : `:${lineNumber + 1}`;
  return `${functionName || '(anonymous)'} ${place}${line}`.trim();
}

/** Microseconds of each node itself, by id. */
export function selfMicros({ samples, timeDeltas }: CpuProfile): ReadonlyMap<number, number> {
  const totals = new Map<number, number>();
  samples.forEach((id, index) => {
    totals.set(id, (totals.get(id) ?? 0) + (timeDeltas[index] ?? 0));
  });
  return totals;
}

/** A profile without the functions of a script and the functions that they called. */
export function withoutScript(profile: CpuProfile, url: string): CpuProfile {
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]));
  const removed = new Set<number>();
  const remove = (node: ProfileNode): void => {
    removed.add(node.id);
    for (const id of node.children ?? []) {
      const child = nodes.get(id);
      if (child !== undefined) remove(child);
    }
  };
  for (const node of profile.nodes) if (node.callFrame.url === url) remove(node);
  return { ...profile, nodes: profile.nodes.filter(({ id }) => !removed.has(id)) };
}

export interface SelfTime {
  readonly name: string;
  readonly micros: number;
}

/**
 * Time spent in each function itself, without the functions that it called, in descending order.
 * Idle time is left out.
 */
export function selfTimes(profile: CpuProfile, root: string): readonly SelfTime[] {
  const micros = selfMicros(profile);
  const totals = new Map<string, number>();
  for (const { id, callFrame } of profile.nodes) {
    if (isIdle(callFrame)) continue;
    const name = frameName(callFrame, root);
    totals.set(name, (totals.get(name) ?? 0) + (micros.get(id) ?? 0));
  }
  return [...totals]
    .filter(([, micros]) => micros > 0)
    .map(([name, micros]) => ({ name, micros }))
    .toSorted((left, right) => right.micros - left.micros);
}

/** A Markdown table of the functions that take the most time themselves. */
export function selfTimeTable(times: readonly SelfTime[], rows: number): string {
  const total = times.reduce((sum, { micros }) => sum + micros, 0);
  const lines = times.slice(0, rows).map(({ name, micros }) => {
    const share = ((100 * micros) / total).toFixed(1);
    return `| ${(micros / 1000).toFixed(0)} | ${share} | ${name} |`;
  });
  return ['| self ms | % | function |', '| ---: | ---: | --- |', ...lines].join('\n');
}
