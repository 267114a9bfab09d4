import type { BlobGroup, BlobListing } from '../client/blob-client.js';
import type { RowView } from './row-output.js';

/** JSON has all fields of a blob; a table only the important ones. */
export const blobView: RowView<BlobListing | BlobGroup> = {
  json: (item) => {
    if (item.kind === 'group') return JSON.stringify({ prefix: item.name });
    const { name, bytes, modified, contentType, blobType, etag } = item;
    return JSON.stringify({ name, bytes, modified, contentType, blobType, etag });
  },
  columns: () => [
    { name: 'name', align: 'left' },
    { name: 'bytes', align: 'right' },
    { name: 'modified', align: 'left' },
    { name: 'contentType', align: 'left' },
  ],
  cells: (item) =>
    item.kind === 'group'
      ? [item.name, '', '', '']
      : [item.name, String(item.bytes), item.modified, item.contentType],
  nothing: 'No blobs.',
  hint: 'Use --format.',
};

/** Blobs with their versions. The table marks current versions by a star. */
export const versionView: RowView<BlobListing | BlobGroup> = {
  ...blobView,
  json: (item) => {
    if (item.kind === 'group') return blobView.json(item);
    const { name, bytes, modified, contentType, blobType, etag, versionId, isCurrent } = item;
    const version = { versionId, isCurrent };
    return JSON.stringify({ name, bytes, modified, contentType, blobType, etag, ...version });
  },
  columns: () => [
    { name: 'name', align: 'left' },
    { name: 'bytes', align: 'right' },
    { name: 'version', align: 'left' },
  ],
  cells: (item) =>
    item.kind === 'group'
      ? [item.name, '', '']
      : [item.name, String(item.bytes), `${item.versionId ?? ''}${item.isCurrent ? ' *' : ''}`],
};
