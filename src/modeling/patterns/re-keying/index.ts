// Moving entities to other keys, tables and accounts. See docs/guides/patterns/re-keying.md.

export type { Phase, Side } from './phase.js';
export { type MovingEntities, type SideQueries } from './moving-entities.js';
export {
  type ReKeying,
  reKeyingOf,
  type MoveState,
  type ReKeyingOptions,
  type MoveStepOptions,
  type MoveReport,
} from './re-keying.js';
export { rebucketed, relocated } from './ready-moves.js';
export type { MoveDrift } from './walk.js';
