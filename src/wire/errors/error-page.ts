import { formatFullDateTime, ticksFromMicros } from '../../model/edm/date-time.js';
import type { StorageError } from '../../model/errors/storage-error.js';
import { escapeXml } from '../xml/escape.js';
import type { ErrorStamp } from './message.js';

/** An error as a page for browsers, as static websites of the cloud service show it. */
export function errorPage(
  { status, code, message }: StorageError,
  { requestId, timeMicros }: ErrorStamp,
): Buffer {
  const facts = [
    `HttpStatusCode: ${status}`,
    `ErrorCode: ${code}`,
    `RequestId: ${requestId}`,
    `TimeStamp: ${formatFullDateTime(ticksFromMicros(timeMicros))}`,
  ];
  const items = facts.map((fact) => `<li>${escapeXml(fact)}</li>`).join('');
  return Buffer.from(
    `<!DOCTYPE html><html><head><title>${code}</title></head>` +
      `<body><h1>${escapeXml(message)}</h1><ul>${items}</ul></body></html>`,
  );
}
