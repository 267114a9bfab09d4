import {
  isIdle,
  selfMicros,
  type CallFrame,
  type CpuProfile,
  type ProfileNode,
} from './cpu-profile.js';

/** A part of the server, and its share of the busy time of a thread. */
export interface PartTime {
  readonly part: string;
  readonly micros: number;
}

/** Folders below `src`, the most special first. Functions outside of them count as `other`. */
const ownParts: readonly (readonly [folder: string, part: string])[] = [
  ['engines/journal/', 'journal'],
  ['engines/', 'data file'],
  ['wire/auth/', 'signature'],
  ['wire/', 'texts of the protocol'],
  ['model/', 'texts of the protocol'],
  ['http/', 'pipeline and operations'],
  ['services/', 'services'],
  ['base/', 'collections and keys'],
  ['kv/', 'collections and keys'],
];
const ownPath = /\/dist\/src\/(.*)$/;
/** Modules of node that serve connections, and those that drive them. */
const httpModules =
  /^node:(_http|_stream|net$|events$|timers$|internal\/(streams|stream_base|timers|process\/task|event|async))/;
const cryptoModules = /^node:(crypto$|internal\/crypto)/;
/** The functions by which node's sockets write to the system. */
const socketWrites = new Set(['writev', 'writeBuffer', 'writeLatin1String', 'writeUtf8String']);

/**
 * The part to which a function itself belongs; undefined when it belongs to the part of its caller.
 */
function ownPart(
  { functionName, url }: CallFrame,
  caller: CallFrame | undefined,
): string | undefined {
  if (functionName === '(garbage collector)') return 'collecting garbage';
  if (functionName === '(program)') return 'native code without a name';
  if (url.includes('/node_modules/lmdb')) return 'data file';
  const path = ownPath.exec(url)?.[1];
  if (path !== undefined)
    return ownParts.find(([folder]) => path.startsWith(folder))?.[1] ?? 'other';
  if (cryptoModules.test(url)) return 'signature';
  if (httpModules.test(url)) return 'requests and answers of node:http';
  if (socketWrites.has(functionName) && caller?.url.includes('stream_base') === true) {
    return 'system calls that write answers';
  }
  return undefined;
}

/**
 * The time of each part, most first. Native code and helpers of node are parts of their callers.
 */
export function partTimes(profile: CpuProfile): readonly PartTime[] {
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]));
  const micros = selfMicros(profile);
  const totals = new Map<string, number>();
  const add = ({ id, callFrame, children }: ProfileNode, above: Caller | undefined): void => {
    const part = ownPart(callFrame, above?.frame) ?? above?.part ?? 'other';
    const own = isIdle(callFrame) ? 0 : (micros.get(id) ?? 0);
    totals.set(part, (totals.get(part) ?? 0) + own);
    for (const child of children ?? []) {
      const node = nodes.get(child);
      if (node !== undefined) add(node, { frame: callFrame, part });
    }
  };
  const called = new Set(profile.nodes.flatMap(({ children }) => children ?? []));
  for (const node of profile.nodes) if (!called.has(node.id)) add(node, undefined);
  return [...totals]
    .filter(([, time]) => time > 0)
    .map(([part, time]) => ({ part, micros: time }))
    .toSorted((left, right) => right.micros - left.micros);
}

interface Caller {
  readonly frame: CallFrame;
  readonly part: string;
}

/** A Markdown table of the parts, as shares. */
export function partTable(parts: readonly PartTime[]): string {
  const total = parts.reduce((sum, { micros }) => sum + micros, 0);
  const lines = parts.map(
    ({ part, micros }) => `| ${((100 * micros) / total).toFixed(1)} | ${part} |`,
  );
  return ['| % | part |', '| ---: | --- |', ...lines].join('\n');
}
