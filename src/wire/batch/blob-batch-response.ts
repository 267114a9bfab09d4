import type { Randomness } from '../../base/randomness.js';
import { BodyWriter } from './body-writer.js';
import type { BatchResponse } from './render.js';

/** The answer to one request of a batch of blobs. */
export interface BlobBatchPart {
  /** The content id of the request. */
  readonly contentId: string | undefined;
  readonly status: number;
  /** One line of visible ASCII; of an error, its message. */
  readonly reason: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** Absent: none. Its length is among the headers. */
  readonly body?: Uint8Array;
}

/** Writes one body at a time, each without an interruption. */
const writer = new BodyWriter();

/**
 * The answer to a batch of blobs, whose status is 202 (blob-service §18). Clients split it at the
 * boundary and at CRLF, so the boundary is the last parameter of the media type, without quotes.
 */
export function renderBlobBatch(
  parts: readonly BlobBatchPart[],
  randomness: Randomness,
): BatchResponse {
  const boundary = `batchresponse_${randomness.uuid()}`;
  writer.begin();
  for (const part of parts) {
    writer.text(`--${boundary}\r\nContent-Type: application/http\r\n`);
    writePart(part);
  }
  writer.text(`--${boundary}--\r\n`);
  return { contentType: `multipart/mixed; boundary=${boundary}`, body: writer.finish() };
}

function writePart({ contentId, status, reason, headers, body }: BlobBatchPart): void {
  if (contentId !== undefined) writer.text(`Content-ID: ${contentId}\r\n`);
  writer.text(`\r\nHTTP/1.1 ${status} ${reason}\r\n`);
  for (const [name, value] of headers) writer.text(`${name}: ${value}\r\n`);
  writer.text('\r\n');
  if (body === undefined) return;
  writer.bytes(body);
  writer.text('\r\n');
}
