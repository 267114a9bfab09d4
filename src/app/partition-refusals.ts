import { messageOf } from '../base/thrown.js';
import { PartitionRefusal } from '../http/control/partitions.js';
import { knownStores } from '../partition/membership.js';
import type { Refusal } from '../partition/operations/operations.js';
import type { OpenPartitions } from './open-partitions.js';
import { refusalText } from './partitions/texts.js';

/** The refusal of an operation, with the names of the existing stores. */
export async function refusalOf(
  { catalogue, members }: Pick<OpenPartitions, 'catalogue' | 'members'>,
  refusal: Refusal,
  about: { readonly range: number; readonly store?: string },
): Promise<PartitionRefusal> {
  const known = new Set((await knownStores(catalogue, members)).map(({ row }) => row.name));
  const stores = members.names.filter((name) => known.has(name));
  return new PartitionRefusal(refusalText(refusal, about, stores.join(', ')));
}

/** Throws a refusal with the message of the error. */
export function refuse(error: unknown): never {
  throw new PartitionRefusal(messageOf(error), { cause: error });
}
