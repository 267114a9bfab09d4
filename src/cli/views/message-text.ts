import { isUtf8 } from 'node:buffer';
import { Option } from 'commander';
import { isXmlText } from '../../wire/xml/escape.js';
import { UsageError } from '../terminal/failure.js';
import { notice } from '../terminal/notice.js';

/** Many clients, such as Azure Functions, expect the base64 of a text. */
export function base64Option(what: string): Option {
  return new Option('--base64', what);
}

/**
 * The text to send for the bytes of a message. Throws `UsageError` when XML cannot represent it.
 */
export function sentText(bytes: Buffer, { base64 }: { readonly base64: boolean }): string {
  if (base64) return bytes.toString('base64');
  const text = isUtf8(bytes) ? bytes.toString('utf8') : undefined;
  if (text !== undefined && isXmlText(text)) return text;
  throw new UsageError(
    `The message ${text === undefined ? 'is not UTF-8' : 'has control characters'}, which a queue ` +
      'cannot hold. Put it as base64 with --base64.',
  );
}

/** The text in the base64 of a message; undefined when it is not base64. */
export function textOfBase64(text: string): string | undefined {
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) return undefined;
  const bytes = Buffer.from(text, 'base64');
  return isUtf8(bytes) ? bytes.toString('utf8') : undefined;
}

/** The messages with decoded texts; others are unchanged, with a note. */
export function decodedMessages<Message extends { readonly id: string; readonly text: string }>(
  messages: readonly Message[],
): Message[] {
  return messages.map((message) => {
    const text = textOfBase64(message.text);
    if (text !== undefined) return { ...message, text };
    notice(`Note: the text of ${message.id} is no base64 of UTF-8: shown as it is.`);
    return message;
  });
}
