import { propertiesMax } from './limits.js';
import { isPropertyName, isWidePropertyName } from './property-name.js';

/** The rules for the properties of an entity, beyond those of its storage. */
export interface PropertyRules {
  /** Properties besides the keys and Timestamp. */
  readonly countMax: number;
  /** Whether a text may name a property, its length aside. */
  readonly isName: (text: string) => boolean;
}

/** The rules of the cloud service (table-service §2.2 and §2.4). */
export const cloudPropertyRules: PropertyRules = Object.freeze({
  countMax: propertiesMax,
  isName: isPropertyName,
});

/** More than fits into an entity, and less than the storage format can count. */
const manyPropertiesMax = 10_000;

export function propertyRulesOf(allows: {
  readonly manyProperties: boolean;
  readonly wideNames: boolean;
}): PropertyRules {
  return Object.freeze({
    countMax: allows.manyProperties ? manyPropertiesMax : propertiesMax,
    isName: allows.wideNames ? isWidePropertyName : isPropertyName,
  });
}
