import type { BlobKind, CopyState } from '../../model/blobs/properties.js';

// Texts that headers and lists show alike.

const blobTypes = { block: 'BlockBlob', append: 'AppendBlob', page: 'PageBlob' } as const;

/** The value of `x-ms-blob-type` and of `BlobType`. */
export function blobTypeText(kind: BlobKind): string {
  return blobTypes[kind];
}

/** The kind that a request names in `x-ms-blob-type`, in any case; undefined for another text. */
export function parseBlobType(text: string): BlobKind | undefined {
  const lower = text.toLowerCase();
  const kinds = Object.keys(blobTypes) as BlobKind[];
  return kinds.find((kind) => blobTypes[kind].toLowerCase() === lower);
}

/** The value of `x-ms-copy-progress` and of `CopyProgress`. */
export function copyProgressText({
  bytesDone,
  bytesTotal,
}: Pick<CopyState, 'bytesDone' | 'bytesTotal'>): string {
  return `${bytesDone}/${bytesTotal}`;
}
