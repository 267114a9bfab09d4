import type { WireValue } from '../rows/row.js';

export type Comparison = 'eq' | 'ne' | 'gt' | 'ge' | 'lt' | 'le';

/** A condition on stored properties, as data. */
export type FilterNode =
  | {
      readonly kind: 'compare';
      readonly name: string;
      readonly operator: Comparison;
      readonly value: WireValue;
      /** The result for a row that lacks the property: that for its default, if it has one. */
      readonly ifAbsent: boolean;
    }
  | { readonly kind: 'and' | 'or'; readonly parts: readonly FilterNode[] }
  | { readonly kind: 'not'; readonly part: FilterNode };
