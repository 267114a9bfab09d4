// One logical entity over several tables. See docs/guides/partitioning.md.

export {
  defineVertical,
  type VerticalDefinition,
  type VerticalOptions,
} from './vertical-definition.js';
export {
  verticalEntitiesOf,
  type SplitFault,
  type SplitPicked,
  type SplitVerifyOptions,
  type VerticalEntities,
  type VerticalEntitiesOptions,
} from './vertical-entities.js';
