import type { QueuePage, QueueQuery } from '../queues/types.js';
import type { PageShape } from './paging-policy.js';
import { plainPositions } from './plain-names.js';
import { shapedNames } from './shaped-names.js';

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
      ...plainPositions(query.from),
      limit: query.limit,
    },
    shape,
  );
  return { queues: items, ...rest };
}
