import { isCollection, isMap, isNode, isPair, isScalar, type Document, type YAMLMap } from 'yaml';

/** The nesting limit of lists and objects: more than any setting or seed needs. */
const depthMax = 64;

export const tooDeep = `Values may be nested ${depthMax} levels deep at most.`;

interface ShapeMistake {
  /** The offset in the text. */
  readonly offset: number;
  readonly message: string;
}

/** A structural mistake of a well-formed document, whatever its values mean; undefined: none. */
export function shapeMistake(document: Document): ShapeMistake | undefined {
  const left: [node: unknown, depth: number][] = [[document.contents, 1]];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const [node, depth] = next;
    if (!isCollection(node)) continue;
    if (depth > depthMax) return { offset: offsetOf(node), message: tooDeep };
    const twice = isMap(node) ? repeatedKey(node) : undefined;
    if (twice !== undefined)
      return { offset: offsetOf(twice), message: 'Map keys must be unique.' };
    for (const item of node.items) {
      if (!isPair(item)) left.push([item, depth + 1]);
      else left.push([item.key, depth + 1], [item.value, depth + 1]);
    }
  }
  return undefined;
}

function repeatedKey(map: YAMLMap): unknown {
  const found = new Set<unknown>();
  for (const { key } of map.items) {
    const value = isScalar(key) ? key.value : key;
    if (found.has(value)) return key;
    found.add(value);
  }
  return undefined;
}

function offsetOf(node: unknown): number {
  return isNode(node) ? (node.range?.[0] ?? 0) : 0;
}
