import { messageOf } from '../base/thrown.js';
import { PartitionRefusal } from '../http/control/partitions.js';
import { knownStores } from '../partition/membership.js';
import { SilentStoreError } from '../partition/reach.js';
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

const unchanged =
  'Nothing was changed: look at its disk or its database, and repeat the command when it answers.';
const mayBeDone =
  'It may be done later all the same: repeat the command when the store answers, or look with ' +
  'tabularium partition list then.';

/**
 * Awaits work that changes something in its end. The error for a silent store says whether that may
 * have happened; `otherwise`: in these words.
 */
export async function unlessSilent<Result>(
  work: Promise<Result>,
  otherwise?: string,
): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof SilentStoreError) || error.isTold) throw error;
    throw error.saying(otherwise ?? (error.writes ? mayBeDone : unchanged));
  }
}

/** Throws a refusal with the message of the error. */
export function refuse(error: unknown): never {
  throw new PartitionRefusal(messageOf(error), { cause: error });
}
