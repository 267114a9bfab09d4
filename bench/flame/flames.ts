import { readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { WorkloadKind } from '../kinds.js';
import { titleOf } from '../report.js';
import type { ServerProcess } from '../server-process.js';
import { callTree, type CallNode } from './call-tree.js';
import { selfTimes, selfTimeTable, withoutScript, type CpuProfile } from './cpu-profile.js';
import { flameGraph } from './flame-graph.js';
import { partTable, partTimes } from './parts.js';
import type { WrittenProfile } from './profile-request.js';

const repository = fileURLToPath(new URL('../../../', import.meta.url));
const tableRows = 25;

const profilerUrl = new URL('profiled.js', import.meta.url).href;

/** The flags that a process needs so that its profile can be taken. */
export const profilingFlags = [`--import=${profilerUrl}`];

/** The profile without the profiler's own functions. */
function profileIn(file: string): CpuProfile {
  const profile = JSON.parse(readFileSync(file, 'utf8')) as CpuProfile;
  return withoutScript(profile, profilerUrl);
}

/** Writes the picture of all threads. A table of each. */
function picture(
  title: string,
  path: string,
  threads: readonly WrittenProfile[],
): readonly string[] {
  const trees: CallNode[] = [];
  const tables: string[] = [];
  for (const { thread, file } of threads) {
    const profile = profileIn(file);
    const tree = callTree(profile, thread, repository);
    if (tree.micros === 0) continue;
    trees.push(tree);
    const busy = `${title}, ${thread}: ${Math.round(tree.micros / 1000)} ms busy`;
    const functions = selfTimeTable(selfTimes(profile, repository), tableRows);
    tables.push([busy, partTable(partTimes(profile)), functions].join('\n\n'));
  }
  writeFileSync(`${path}.svg`, flameGraph(title, trees));
  return tables;
}

/**
 * Does something while a server profiles itself. Writes the profiles of its threads and one flame
 * graph to the directory. Returns a text about the files and the parts and functions that took the
 * most time.
 */
export async function withFlame<Result>(
  { server, kind, directory }: FlameOf,
  work: () => Promise<Result>,
): Promise<{ readonly result: Result; readonly report: string }> {
  const path = join(directory, `${kind}-${server.name}`);
  await server.profile({ profile: 'start' });
  const result = await work();
  const answer = await server.profile({ profile: 'stop', path });
  const threads = answer.profile === 'written' ? answer.threads : [];
  const title = `${titleOf(kind)}, ${server.name}`;
  const tables = picture(title, path, threads);
  const files = [`${path}.svg`, ...threads.map(({ file }) => file)];
  return {
    result,
    report: [...tables, files.map((file) => basename(file)).join(', ')].join('\n\n'),
  };
}

export interface FlameOf {
  readonly server: ServerProcess;
  readonly kind: WorkloadKind;
  /** Where the files go; it is there. */
  readonly directory: string;
}
