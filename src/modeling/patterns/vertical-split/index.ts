// One logical entity over several tables. See docs/guides/partitioning.md.

export { defineVertical, type VerticalDefinition } from './vertical-definition.js';
export type { SplitFault, SplitVerifyOptions } from './split-verify.js';
export {
  verticalEntitiesOf,
  type SplitPicked,
  type VerticalEntities,
  type VerticalEntitiesOptions,
} from './vertical-entities.js';
