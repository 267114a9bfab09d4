import { plainNameLengthMax } from '../containers/plain-name.js';
import type { QueuePage, QueueQuery } from '../queues/types.js';
import type { PageShape } from './paging-policy.js';
import { shapedNames } from './shaped-names.js';

/** The lowest character of a queue's name. */
const lowestCharacter = '-';

/** A page of a list of queues in a given shape. `read` lists without a shape. */
export async function shapedQueues(
  read: (query: QueueQuery) => Promise<QueuePage>,
  query: QueueQuery,
  shape: PageShape,
): Promise<QueuePage> {
  const { items, ...rest } = await shapedNames(
    {
      read: async (limit) => {
        const { queues, ...next } = await read({ ...query, limit });
        return { items: [...queues], ...next };
      },
      identityOf: ({ name }) => name,
      // A marker must not be longer than a name.
      behind: (name) =>
        name.length < plainNameLengthMax ? `${name}${lowestCharacter}` : undefined,
    },
    { limit: query.limit, from: query.from },
    shape,
  );
  return { queues: items, ...rest };
}
