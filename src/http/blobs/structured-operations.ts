import { StorageError } from '../../model/errors/storage-error.js';
import {
  isStructured,
  structuredForm,
  structuredHeader,
} from '../../wire/blobs/structured-body.js';
import type { AnyOperation } from '../exchange/service.js';
import { appendBlock } from './append-blob.js';
import { getBlob } from './get-blob.js';
import { putPage } from './page-blob.js';
import { putBlob } from './put-blob.js';
import { putBlock } from './put-block.js';
import type { BlobRequest } from './request.js';

/** Operations whose body or answer may be structured. */
const structured: ReadonlySet<AnyOperation> = new Set<AnyOperation>([
  putBlob,
  putBlock,
  appendBlock,
  putPage,
  getBlob,
]);

/** Refuses a structured body where there is none: its framing would be taken for content. */
export function refuseStructured(operation: AnyOperation, { header }: BlobRequest): void {
  if (!isStructured(header) || structured.has(operation)) return;
  throw new StorageError('UnsupportedHeader', {
    details: [
      ['HeaderName', structuredHeader],
      ['HeaderValue', structuredForm],
    ],
  });
}
