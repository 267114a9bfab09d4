import { messageOf } from '../base/thrown.js';
import { PartitionRefusal } from '../http/control/partitions.js';
import { knownStores } from '../partition/membership.js';
import type { Refusal } from '../partition/operations/operations.js';
import type { OpenPartitions } from './open-partitions.js';
import { refusalText } from './partitions/texts.js';

/** Why an operation does not begin, with the stores that there are. */
export async function refusalOf(
  { catalogue, members }: Pick<OpenPartitions, 'catalogue' | 'members'>,
  refusal: Refusal,
  about: { readonly range: number; readonly store?: string },
): Promise<PartitionRefusal> {
  const known = new Set((await knownStores(catalogue, members)).map(({ row }) => row.name));
  const stores = members.names.filter((name) => known.has(name));
  return new PartitionRefusal(refusalText(refusal, about, stores.join(', ')));
}

/** Throws a refusal that says what the error says. */
export function refuse(error: unknown): never {
  throw new PartitionRefusal(messageOf(error), { cause: error });
}
