import {
  frameName,
  isIdle,
  selfMicros,
  type CallFrame,
  type CpuProfile,
  type ProfileNode,
} from './cpu-profile.js';

/** The origin of the code of a function. */
export type CodeOwner = 'own' | 'dependency' | 'node' | 'native' | 'collector';

/** A function in one place of the stack, and what it called. */
export interface CallNode {
  readonly name: string;
  readonly owner: CodeOwner;
  /** Its own time and that of the functions that it called. */
  readonly micros: number;
  /** Most time first. */
  readonly children: readonly CallNode[];
}

export function ownerOf({ functionName, url }: CallFrame): CodeOwner {
  if (functionName === '(garbage collector)') return 'collector';
  if (url.startsWith('node:')) return 'node';
  if (url.includes('/node_modules/')) return 'dependency';
  return url === '' ? 'native' : 'own';
}

interface GrowingNode {
  readonly name: string;
  readonly owner: CodeOwner;
  micros: number;
  readonly children: Map<string, GrowingNode>;
}

function growing(name: string, owner: CodeOwner): GrowingNode {
  return { name, owner, micros: 0, children: new Map() };
}

/**
 * Merges calls of the same function from the same caller into one node, and leaves out nodes
 * without time.
 */
function finished({ name, owner, micros, children }: GrowingNode): CallNode {
  const below = [...children.values()]
    .filter((child) => child.micros > 0)
    .toSorted((left, right) => right.micros - left.micros);
  return { name, owner, micros, children: below.map(finished) };
}

/**
 * The calls of a thread under one node that has the thread's name. Its time is that in which the
 * thread was busy. V8 tells a function twice where it was compiled anew: here it is one.
 */
export function callTree(profile: CpuProfile, thread: string, root: string): CallNode {
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]));
  const called = new Set(profile.nodes.flatMap(({ children }) => children ?? []));
  const micros = selfMicros(profile);
  /** Adds a node to the calls of the one above it. Its time, with that of what it called. */
  const add = ({ id, callFrame, children }: ProfileNode, above: GrowingNode): number => {
    const name = frameName(callFrame, root);
    const isPlace = !isIdle(callFrame);
    const node = isPlace ? (above.children.get(name) ?? growing(name, ownerOf(callFrame))) : above;
    if (isPlace) above.children.set(name, node);
    let total = isPlace ? (micros.get(id) ?? 0) : 0;
    for (const child of children ?? []) {
      const next = nodes.get(child);
      if (next !== undefined) total += add(next, node);
    }
    if (isPlace) node.micros += total;
    return total;
  };
  const whole = growing(thread, 'native');
  for (const node of profile.nodes) {
    if (!called.has(node.id)) whole.micros += add(node, whole);
  }
  return finished(whole);
}
