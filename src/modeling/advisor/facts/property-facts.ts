import { own } from '../../../base/own.js';
import type { Properties } from '../../definition/property.js';
import { ValueError } from '../../rows/model-error.js';
import type { Distribution } from './distribution.js';

/** An average and a maximum in the same unit. */
export interface SizeRange {
  readonly average: number;
  readonly maximum: number;
}

/** How the values of a property change from one insert to the next. */
export type ValueOrder = 'increasing' | 'decreasing' | 'random';

/** The known or expected facts about the values of one property. */
export interface PropertyFacts {
  /**
   * UTF-16 code units of a text or of the JSON text, bytes of a binary. A single number is the size
   * of all. Other kinds have fixed sizes.
   */
  readonly size?: number | SizeRange;
  /** The share of entities that have the property, 0 to 1. 1 when absent. */
  readonly present?: number;
  /** How many values there are and how often each occurs; of a list, its items. */
  readonly values?: Distribution;
  /**
   * Lists: the average number of different items in an entity that has the list, which is also the
   * number of its rows in an index with `each`. 1 when absent.
   */
  readonly items?: number;
  /**
   * `increasing` for sequence numbers and times of events, `random` for times that are independent
   * of the order of inserts, such as dates of birth. When absent, moments are assumed to increase,
   * and nothing is assumed of other kinds; a text or number that may increase is asked about.
   */
  readonly order?: ValueOrder;
  /** Texts alone: whether the values are dates or times, written so that they sort by time. */
  readonly isTime?: boolean;
  /** Embedded objects alone: facts by the names of their properties. */
  readonly properties?: Readonly<Record<string, PropertyFacts>>;
}

/** Facts by the names of a definition's properties. */
export type FactsOf<P extends Properties> = {
  readonly [N in keyof P & string]?: PropertyFacts;
};

export type FactsByName = Readonly<Record<string, PropertyFacts | undefined>>;

/**
 * Throws `ValueError` for properties that the definition does not have, and for impossible figures.
 */
export function checkFacts(facts: FactsByName, properties: Properties, where: string): void {
  for (const [name, known] of Object.entries(facts)) {
    const path = `${where}.${name}`;
    const property = own(properties, name);
    if (property === undefined) throw new ValueError(`${path}: there is no such property`);
    if (known === undefined) continue;
    const { average, maximum } = sizeOf(known) ?? { average: 0, maximum: 0 };
    if (!(average >= 0 && average <= maximum && Number.isFinite(maximum))) {
      throw new ValueError(`${path}: a size of ${average} on average and ${maximum} at most`);
    }
    const { present = 1, items = 1 } = known;
    if (!(items >= 0 && Number.isFinite(items))) {
      throw new ValueError(`${path}: a list has 0 items or more, not ${items}`);
    }
    if (!(present >= 0 && present <= 1)) {
      throw new ValueError(`${path}: a share is 0 to 1, not ${present}`);
    }
    checkFacts(known.properties ?? {}, property.model.properties ?? {}, path);
  }
}

export function sizeOf({ size }: PropertyFacts): SizeRange | undefined {
  return typeof size === 'number' ? { average: size, maximum: size } : size;
}
