// Entities of several rows. See docs/guides/patterns/wide-entities.md.

export {
  defineWideEntity,
  type AnyWideDefinition,
  type GroupOf as WideGroupOf,
  type WideChangesOf,
  type WideCreateOf,
  type WideDefinition,
  type WideGroups,
  type WideKeyOf,
  type WidePartOf,
  type WideReadOf,
} from './wide-definition.js';
export {
  type WideEntities,
  wideEntitiesOf,
  wideEtagsOf,
  type WideCondition,
  type WideStored,
} from './wide-entities.js';
