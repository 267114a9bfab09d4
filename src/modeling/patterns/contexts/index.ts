// Bounded contexts with tables of their own. See docs/guides/partitioning.md.

export { contextReference, type ContextReference } from './context-reference.js';
export { contextsOf, type Contexts, type ContextTypes } from './contexts.js';
export { OrphanMessage, type OrphanNote } from './orphan-message.js';
export { readOnly, ReadOnlyContextError } from './read-only-table.js';
export type { Orphan, ReferenceCheckOptions, ReferenceReport } from './reference-check.js';
