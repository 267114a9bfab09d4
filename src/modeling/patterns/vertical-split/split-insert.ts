import { own } from '../../../base/own.js';
import type { Randomness } from '../../../base/randomness.js';
import type { AnyDefinition } from '../../definition/entity-definition.js';
import { etagOf, type Stored } from '../../definition/stored-entity.js';
import { unlessPresent } from '../../table/conditional-write.js';
import { isConflict, isOvertaken, OvertakenError, retryConflicts } from '../../table/contention.js';
import type { Entities } from '../../table/entities.js';
import { absentEntityError, existingEntityError } from '../../table/refusals.js';
import { splitPair, splitState } from './vertical-definition.js';

type Values = Readonly<Record<string, unknown>>;

const making = 'making';

export interface SplitInsertOptions {
  readonly type: string;
  readonly leader: Entities<AnyDefinition>;
  readonly randomness: Randomness;
}

/**
 * The insert of an entity over several tables. It first inserts the leader, marked as unfinished:
 * until the insert has ended, the entity does not exist. A program cannot know whether an
 * unfinished insert was killed or still runs, so the next insert takes over its leader and its
 * halves. If the former insert still runs, it finds the leader of the other one and fails.
 */
export class SplitInsert {
  readonly #options: SplitInsertOptions;

  constructor(options: SplitInsertOptions) {
    this.#options = options;
  }

  /**
   * Makes the leader one of this insert and returns it. Throws `EntityExistsError` when the entity
   * exists. One insert; also a read and an update where another insert has left a leader.
   */
  claim(values: Values): Promise<Stored<object>> {
    const { leader } = this.#options;
    const made = { ...values, [splitState]: making };
    return this.#retried(async () => {
      const inserted = await unlessPresent(() => leader.insert(made));
      if (inserted !== undefined) return inserted;
      const found = await leader.get(values);
      if (found === undefined) throw new OvertakenError(undefined);
      if (!isMaking(found)) throw this.#existsError(values);
      // An earlier attempt of this insert was applied, and its answer was lost.
      if (pairOf(found) === pairOf(values)) return found;
      return orOvertaken(() => leader.replace(made, { ifMatch: etagOf(found) }));
    });
  }

  /**
   * Writes a half. Replaces the half of another insert, provided that the leader is of this insert.
   */
  putHalf(entities: Entities<AnyDefinition>, values: Values): Promise<void> {
    const pair = pairOf(values);
    return this.#retried(async () => {
      if ((await unlessPresent(() => entities.insert(values))) !== undefined) return;
      const found = await entities.get(values);
      if (found === undefined) throw new OvertakenError(undefined);
      if (pairOf(found) === pair) return;
      if (pairOf(await this.#options.leader.get(values)) !== pair) throw this.#existsError(values);
      await orOvertaken(() => entities.replace(values, { ifMatch: etagOf(found) }));
    });
  }

  /**
   * Ends the insert: from then on the entity exists. Keeps changes of the leader since it was
   * inserted. Throws `EntityNotFoundError` when the leader was deleted meanwhile.
   */
  async end(made: Stored<object>): Promise<void> {
    const { leader } = this.#options;
    // An insert whose answer was lost has told no ETag.
    let known: Stored<object> | undefined = etagOf(made) === '' ? undefined : made;
    await this.#retried(async () => {
      const head = known ?? (await leader.get(made));
      known = undefined;
      if (head === undefined) throw absentEntityError(this.#options.type, leader.codec.key(made));
      if (pairOf(head) !== pairOf(made)) throw this.#existsError(made);
      if (!isMaking(head)) return;
      const { [splitState]: _, ...whole } = head as Values;
      await orOvertaken(() => leader.replace(whole, { ifMatch: etagOf(head) }));
    });
  }

  #retried<T>(attempt: () => Promise<T>): Promise<T> {
    const { type, randomness } = this.#options;
    return retryConflicts(`${type}: insert`, { randomness }, attempt, isOvertaken);
  }

  #existsError(values: object): Error {
    const { type, leader } = this.#options;
    return existingEntityError(type, leader.codec.key(values as Values));
  }
}

/** Whether a row is the leader of an insert that has not ended. */
export function isMaking(head: object | undefined): boolean {
  return head !== undefined && own(head as Values, splitState) === making;
}

/** The id of the insert that wrote the row; empty for an absent row. */
export function pairOf(row: object | undefined): string {
  const pair = row === undefined ? undefined : own(row as Values, splitPair);
  return typeof pair === 'string' ? pair : '';
}

async function orOvertaken<T>(write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    throw isConflict(error) ? new OvertakenError(error) : error;
  }
}
