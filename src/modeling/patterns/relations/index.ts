// One-to-many and one-to-one relations. See docs/guides/patterns/relations.md.

export type { FinishedMoves } from './move.js';
export { oneToManyOf, type OneToMany } from './one-to-many.js';
export {
  oneToOneOf,
  type OneToOne,
  type OneToOneOptions,
  type Pair,
  type RemovedOrphans,
} from './one-to-one.js';
export type { OneToManyOptions } from './relation.js';
