import { element, textElement, xmlDocument } from '../xml/element.js';
import { stampedMessage, type ErrorStamp } from './message.js';
import type { StorageError } from '../../model/errors/storage-error.js';

/** An error response without the headers common to all responses. */
export interface RenderedError {
  readonly status: number;
  /** The reason phrase, when the service does not send the standard one. */
  readonly reason: string | undefined;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Buffer;
}

/** The longest reason phrase; some clients read the status line into a small buffer. */
const reasonLengthMax = 256;

/** The challenge of the cloud service; SDK policies parse it (table-service §8.1). */
const cloudChallenge =
  'Bearer authorization_uri=https://login.microsoftonline.com/common/oauth2/authorize resource_id=https://storage.azure.com';

/**
 * The response to a failed request of a service whose every error is `<Error>`, such as queues
 * (queue-service §3.3): code, stamped message, then the details.
 */
export function renderStorageXmlError(error: StorageError, stamp: ErrorStamp): RenderedError {
  const children = [
    textElement('Code', error.code),
    textElement('Message', stampedMessage(error.message, stamp)),
    ...error.details.map(([name, value]) => textElement(name, value)),
  ];
  return xmlError(error, error.code, xmlDocument(element('Error', children.join(''))));
}

/** The common form of XML errors: the message as reason phrase, a challenge. */
export function xmlError(
  { status, message, challenge = cloudChallenge, lengthBytes }: StorageError,
  sentCode: string,
  body: Buffer,
): RenderedError {
  return {
    status,
    reason: reasonPhrase(message),
    headers: [
      ['Content-Type', 'application/xml'],
      ['x-ms-error-code', sentCode],
      ...(status === 401 ? [['WWW-Authenticate', challenge] as const] : []),
      ...(lengthBytes === undefined ? [] : [['Content-Range', `bytes */${lengthBytes}`] as const]),
    ],
    body,
  };
}

/** The message restricted to a status line: one line of visible ASCII. */
function reasonPhrase(message: string): string {
  return message.slice(0, reasonLengthMax).replace(/[^\x20-\x7e]/g, '?');
}
