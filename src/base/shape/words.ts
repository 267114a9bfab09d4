import { unreachable } from '../invariant.js';
import type { InstanceKind, Shape } from './shape.js';

/** The text after "must be" for a shape. */
export function expectedWords(shape: Shape): string {
  if (shape.expected !== undefined) return shape.expected;
  switch (shape.kind) {
    case 'text':
      return 'a text';
    case 'number':
      return numberWords(shape);
    case 'boolean':
      return 'true or false';
    case 'null':
      return 'nothing';
    case 'never':
      return 'absent';
    case 'choice':
      return orList(shape.values);
    case 'list':
      return listWords(shape);
    case 'object':
      return shape.required.length === 0
        ? 'an object'
        : `an object with ${shape.required.join(', ')}`;
    case 'record':
      return 'an object with a member for each name';
    case 'either':
      return orList(shape.shapes.map(expectedWords));
    case 'instance':
      return instanceWords(shape.of, shape.has);
    default:
      return unreachable(shape);
  }
}

function numberWords({
  isWhole,
  min,
  max,
}: Pick<Extract<Shape, { readonly kind: 'number' }>, 'isWhole' | 'min' | 'max'>): string {
  const what = isWhole ? 'a whole number' : 'a number';
  if (min === -Infinity) return what;
  return max >= Number.MAX_SAFE_INTEGER ? `${what} from ${min}` : `${what} from ${min} to ${max}`;
}

function listWords({ min, max }: Extract<Shape, { readonly kind: 'list' }>): string {
  if (max !== undefined)
    return min === 0 ? `a list of at most ${max}` : `a list of ${min} to ${max}`;
  return min === 0 ? 'a list' : `a list of at least ${min}`;
}

const instanceNames: Readonly<Record<InstanceKind, string>> = {
  function: 'a function',
  object: 'an object',
  undefined: 'undefined',
  number: 'a number',
  bigint: 'a bigint',
  Date: 'a Date',
  URL: 'a URL',
  bytes: 'bytes',
};

function instanceWords(of: InstanceKind, has: readonly string[]): string {
  if (has.length === 0) return instanceNames[of];
  return `${instanceNames[of]} with the functions ${has.join(', ')}`;
}

export function orList(words: readonly string[]): string {
  const last = words.at(-1) ?? '';
  return words.length < 2 ? last : `${words.slice(0, -1).join(', ')} or ${last}`;
}
