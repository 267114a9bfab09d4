import { isUtf8 } from 'node:buffer';
import { inOnePiece, type Pieces } from '../../base/async/slice.js';
import { invalidXmlDocument } from '../../model/errors/query-errors.js';
import { httpDate } from '../http/http-date.js';
import { isXmlText } from './escape.js';
import { element, LongDocument, textElement, xmlDocument } from './element.js';
import { parseXml } from './reader.js';

/** A message in an answer: Put, Get and Peek leave out different members (queue-service §8). */
export interface RenderedMessage {
  readonly id: string;
  /** This and the other times: microseconds since 1970. */
  readonly insertedMicros: number;
  readonly expiresMicros: number;
  readonly popReceipt?: string | undefined;
  readonly nextVisibleMicros?: number | undefined;
  readonly dequeueCount?: number | undefined;
  readonly text?: string | undefined;
}

/**
 * The text of a `QueueMessage` body (queue-service §8.1): references decoded, all white space as
 * sent. Elements inside the text are removed and their content is kept; a line break inside CDATA,
 * or next to such an element, becomes a line feed.
 *
 * @throws InvalidXmlDocument
 */
export function parseMessageText(body: Buffer): string {
  return readPlainMessage(body) ?? readMessage(body);
}

/** The form that all clients send: the two elements, and text without markup. */
const plainMessage =
  /^\ufeff?(?:<\?xml version="1\.0"(?: encoding="(?:utf|UTF)-8")?(?: standalone="(?:yes|no)")? ?\?>)?[ \t\r\n]*<QueueMessage>[ \t\r\n]*<MessageText>([^<]*)<\/MessageText>[ \t\r\n]*<\/QueueMessage>[ \t\r\n]*$/;

/**
 * The text of a body in the usual form, parsed several times faster than by the library and with
 * its carriage returns; undefined for any other body, valid or not.
 */
function readPlainMessage(body: Buffer): string | undefined {
  if (!isUtf8(body)) return undefined;
  const text = plainMessage.exec(body.toString('utf8'))?.[1];
  if (text === undefined || text.includes(']]>') || !isXmlText(text)) return undefined;
  return text.includes('&') ? decodeReferences(text) : text;
}

/** A reference other than those that clients write. */
const unusualReference = /&(?!(?:amp|apos|gt|lt|quot|#xD|#13|#xA|#10);)/;

/** `&amp;` is last, so that its result is not decoded again. */
const references = [
  ['&quot;', '"'],
  ['&lt;', '<'],
  ['&gt;', '>'],
  ['&apos;', "'"],
  ['&#xD;', '\r'],
  ['&#13;', '\r'],
  ['&#xA;', '\n'],
  ['&#10;', '\n'],
  ['&amp;', '&'],
] as const;

/** Undefined for an unusual or malformed reference. */
function decodeReferences(text: string): string | undefined {
  if (unusualReference.test(text)) return undefined;
  return references.reduce((decoded, [from, to]) => decoded.replaceAll(from, to), text);
}

function readMessage(body: Buffer): string {
  const root = parseXml(body);
  if (root.name !== 'QueueMessage') {
    throw invalidXmlDocument(`The root element is ${root.name}, not QueueMessage.`);
  }
  const [text, ...others] = root.children;
  if (text?.name !== 'MessageText' || others.length > 0 || root.text.trim() !== '') {
    throw invalidXmlDocument('A QueueMessage holds one MessageText and nothing else.');
  }
  return text.textContent;
}

/** A list of messages in the order given (queue-service §8). */
export function renderMessages(messages: readonly RenderedMessage[]): Buffer {
  return inOnePiece(messagesInPieces(messages));
}

/** A list of messages, a message at a time. */
export function* messagesInPieces(messages: readonly RenderedMessage[]): Pieces<Buffer> {
  if (messages.length === 0) return xmlDocument(element('QueueMessagesList', ''));
  const document = new LongDocument();
  document.add('<QueueMessagesList>');
  for (const message of messages) {
    document.add(renderMessage(message));
    yield;
  }
  document.add('</QueueMessagesList>');
  return document.result();
}

function renderMessage(message: RenderedMessage): string {
  const { id, insertedMicros, expiresMicros, popReceipt, nextVisibleMicros } = message;
  const { dequeueCount, text } = message;
  let children = textElement('MessageId', id);
  children += element('InsertionTime', httpDate(insertedMicros));
  children += element('ExpirationTime', httpDate(expiresMicros));
  if (popReceipt !== undefined) children += textElement('PopReceipt', popReceipt);
  if (nextVisibleMicros !== undefined) {
    children += element('TimeNextVisible', httpDate(nextVisibleMicros));
  }
  if (dequeueCount !== undefined) children += element('DequeueCount', String(dequeueCount));
  if (text !== undefined) children += textElement('MessageText', text);
  return element('QueueMessage', children);
}
