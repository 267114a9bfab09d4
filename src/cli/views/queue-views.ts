import type { GridColumn } from './grid.js';
import type { ListedMessage, QueueListing, ReceivedMessage } from '../client/queue-client.js';
import type { RowView } from './row-output.js';

/** Queues by name, with their metadata if requested. */
export const queueView: RowView<QueueListing> = {
  json: ({ name, metadata }) =>
    JSON.stringify({ name, ...(metadata && { metadata: Object.fromEntries(metadata) }) }),
  columns: (rows) => [left('name'), ...(rows.some(hasMetadata) ? [left('metadata')] : [])],
  cells: ({ name, metadata = [] }) => [
    name,
    metadata.map(([key, value]) => `${key}=${value}`).join(', '),
  ],
  nothing: 'No queues.',
  hint: 'Use --format.',
};

function hasMetadata({ metadata }: QueueListing): boolean {
  return metadata !== undefined && metadata.length > 0;
}

/** JSON has all fields of a message; a table only the important ones. */
export const messageView: RowView<ListedMessage | ReceivedMessage> = {
  json: ({ text, ...rest }) => JSON.stringify({ ...rest, text }),
  columns: () => [
    left('id'),
    left('inserted'),
    { name: 'dequeueCount', align: 'right' },
    left('text'),
  ],
  cells: ({ id, inserted, dequeueCount, text }) => [id, inserted, String(dequeueCount), text],
  nothing: 'No messages.',
  hint: 'Use --format.',
};

function left(name: string): GridColumn {
  return { name, align: 'left' };
}
