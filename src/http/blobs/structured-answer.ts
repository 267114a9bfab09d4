import type { BlobReading } from '../../services/blobs/types.js';
import {
  structuredForm,
  structuredHeader,
  structuredLengthHeader,
  StructuredWriter,
} from '../../wire/blobs/structured-body.js';
import type { Reply, StreamedReply } from '../exchange/service.js';

/**
 * The bytes of an answer as a structured body (blob-service §11.5), and the headers that say so.
 * Throws `OutOfRangeInput` when they are too many; nothing is read then.
 */
export function structuredAnswer(
  reading: BlobReading,
): Pick<Reply, 'headers' | 'body'> | Pick<StreamedReply, 'headers' | 'stream'> {
  const { start, end, whole, body } = reading;
  const writer = writerFor(reading);
  const lengthHeaders = [structuredLengthHeader, String(end - start)];
  const headers = [structuredHeader, structuredForm, ...lengthHeaders];
  if (whole !== undefined) {
    const parts = [writer.begin(), ...writer.add(whole), writer.end()];
    return { headers, body: Buffer.concat(parts) };
  }
  const pieces = framed(writer, body);
  return { headers, stream: { bytes: writer.bytes, pieces, close: () => reading.close() } };
}

function writerFor(reading: BlobReading): StructuredWriter {
  try {
    return new StructuredWriter(reading.end - reading.start);
  } catch (error) {
    reading.close();
    throw error;
  }
}

async function* framed(
  writer: StructuredWriter,
  body: AsyncIterable<Buffer>,
): AsyncGenerator<Buffer, void, void> {
  let isBegun = false;
  for await (const piece of body) {
    // Not before: an answer that fails before its first byte is an error.
    if (!isBegun) yield writer.begin();
    isBegun = true;
    yield* writer.add(piece);
  }
  if (!isBegun) yield writer.begin();
  yield writer.end();
}
