// A table with its declared derived data and the workers that they need. See
// docs/guides/patterns/models.md.

export {
  announcement,
  type AnnouncementOptions,
  type EntityChange,
  type MoveTelling,
} from '../patterns/derived-data/announcement.js';
export type { DerivationDeclaration, DerivedDrift } from '../patterns/derived-data/declaration.js';
export { copies, type CopiesOptions } from '../patterns/copies.js';
export { counter, type CounterOptions } from '../patterns/materialised-views/counter.js';
export {
  openModel,
  type Model,
  type ModelDrift,
  type ModelEntities,
  type ModelOptions,
  type ModelPage,
  type ModelPartition,
  type ModelRebuildOptions,
  type OpenedEntities,
  type ReadEntities,
} from './open-model.js';
