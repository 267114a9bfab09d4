// Bounded contexts with tables of their own. See docs/guides/partitioning.md.

export {
  contextReference,
  contextsOf,
  type ContextReference,
  type Contexts,
  type ContextTypes,
  type Orphan,
  type ReferenceCheckOptions,
  type ReferenceReport,
} from './contexts.js';
export { readOnly, ReadOnlyContextError } from './read-only-table.js';
