import { unreachable } from '../../base/invariant.js';
import type { Tags } from './tags.js';

export type TagOperator = '=' | '<>' | '<' | '<=' | '>' | '>=';

/** Compares a tag with a value, in ordinal order. False for a blob without the tag. */
export interface TagComparison {
  readonly kind: 'comparison';
  readonly tag: string;
  readonly operator: TagOperator;
  readonly value: string;
}

/** The condition of `x-ms-if-tags` (blob-service §9.4). A group has at least two operands. */
export type TagExpression =
  TagComparison | { readonly kind: 'and' | 'or'; readonly operands: readonly TagExpression[] };

/**
 * What Find Blobs by Tags looks for (blob-service §6.6): all comparisons hold, none of which has
 * the operator `<>`.
 */
export interface TagQuery {
  /** The comparison of `@container`, which only a search in an account has. */
  readonly container: string | undefined;
  readonly comparisons: readonly TagComparison[];
}

/** Whether a blob with these tags meets the condition. */
export function tagsMeet(expression: TagExpression, tags: Tags): boolean {
  switch (expression.kind) {
    case 'comparison':
      return comparisonHolds(expression, tags);
    case 'and':
      return expression.operands.every((operand) => tagsMeet(operand, tags));
    case 'or':
      return expression.operands.some((operand) => tagsMeet(operand, tags));
    default:
      return unreachable(expression);
  }
}

/** Whether a blob with these tags, in this container, is found. */
export function queryFinds(query: TagQuery, container: string, tags: Tags): boolean {
  if (query.container !== undefined && query.container !== container) return false;
  return query.comparisons.every((comparison) => comparisonHolds(comparison, tags));
}

/** The tags that a result shows: those that the query names, in the order of the blob. */
export function namedTags({ comparisons }: TagQuery, tags: Tags): Tags {
  const named = new Set(comparisons.map(({ tag }) => tag));
  return tags.filter(([name]) => named.has(name));
}

function comparisonHolds({ tag, operator, value }: TagComparison, tags: Tags): boolean {
  const found = tags.find(([name]) => name === tag);
  if (found === undefined) return false;
  const [, actual] = found;
  switch (operator) {
    case '=':
      return actual === value;
    case '<>':
      return actual !== value;
    case '<':
      return actual < value;
    case '<=':
      return actual <= value;
    case '>':
      return actual > value;
    case '>=':
      return actual >= value;
    default:
      return unreachable(operator);
  }
}
