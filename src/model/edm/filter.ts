import type { EdmValue } from './value.js';

export type ComparisonOperator = 'eq' | 'ne' | 'gt' | 'ge' | 'lt' | 'le';

/**
 * A parsed `$filter` (table-service §5). Immutable. The property of a comparison is always on its
 * left: the parser mirrors `3 lt Age`. `and` and `or` have two or more operands and are flattened,
 * so a chain of hundreds of comparisons stays shallow; the order of operands is irrelevant.
 */
export type Filter =
  | { readonly kind: 'and'; readonly operands: readonly Filter[] }
  | { readonly kind: 'or'; readonly operands: readonly Filter[] }
  | { readonly kind: 'not'; readonly operand: Filter }
  | {
      readonly kind: 'comparison';
      readonly property: string;
      readonly operator: ComparisonOperator;
      readonly literal: EdmValue;
    }
  /** A property used as a condition: true where it is Boolean and true. */
  | { readonly kind: 'property'; readonly property: string }
  | { readonly kind: 'constant'; readonly value: boolean };
