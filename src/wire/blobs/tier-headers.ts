import type { AccessTier, RehydratePriority } from '../../model/blobs/properties.js';
import { invalidHeader } from '../../model/errors/query-errors.js';
import type { HeaderLookup } from './header-values.js';

/** The first version with the tier Cold. */
const coldVersion = '2021-12-02';

/** All of blobs of any kind. */
export const accessTiers: readonly AccessTier[] = [
  'Hot',
  'Cool',
  'Cold',
  'Archive',
  'P4',
  'P6',
  'P10',
  'P15',
  'P20',
  'P30',
  'P40',
  'P50',
  'P60',
  'P70',
  'P80',
];
const priorities: readonly RehydratePriority[] = ['Standard', 'High'];

/**
 * The tier of `x-ms-access-tier`, in any case; undefined when the request names none
 * (blob-service §15.3).
 *
 * @throws {StorageError} `InvalidHeaderValue`
 */
export function accessTierHeader(header: HeaderLookup, version: string): AccessTier | undefined {
  const tier = oneOf(header, 'x-ms-access-tier', accessTiers);
  if (tier === 'Cold' && version < coldVersion) throw invalidHeader('x-ms-access-tier', tier);
  return tier;
}

/** The value of `x-ms-rehydrate-priority`. @throws {StorageError} `InvalidHeaderValue` */
export function rehydratePriorityHeader(header: HeaderLookup): RehydratePriority | undefined {
  return oneOf(header, 'x-ms-rehydrate-priority', priorities);
}

function oneOf<Value extends string>(
  header: HeaderLookup,
  name: string,
  values: readonly Value[],
): Value | undefined {
  const text = header(name);
  if (text === undefined) return undefined;
  const lower = text.toLowerCase();
  const found = values.find((value) => value.toLowerCase() === lower);
  if (found === undefined) throw invalidHeader(name, text);
  return found;
}
