import { isNestedBeyond } from '../../base/json-depth.js';
import { isRecord } from '../../base/record.js';
import type { JsonValue } from '../definition/structured-types.js';
import { ModelError, ValueError } from '../table/errors.js';
import { messageTextBytesMax } from './queue-port.js';

/**
 * The content of a queue message or an outbox row: one JSON object.
 *
 *   {"v":1,"type":"archive","version":1,"id":"9f…","payload":{…},"uncounted":2,"poison":{…}}
 *
 * `v` is the version of this format and stays 1 as long as old readers can read new texts.
 * `uncounted`, `postponed` and `poison` are absent unless they are needed.
 */
export interface Envelope {
  /** The kind of message, by which its handler is found. */
  readonly type: string;
  /** The version of the payload's shape, from 1. */
  readonly version: number;
  /** Unique to the intent, and the same in every copy and delivery of it. */
  readonly id: string;
  readonly payload: JsonValue;
  /** Deliveries that failed transiently; they do not count towards `dequeueMax`. */
  readonly uncounted: number;
  /**
   * Deliveries to programs that do not know the type or the version; they do not count towards
   * `dequeueMax`. Absent: none.
   */
  readonly postponed?: number;
  /** Why the message is in a poison queue. */
  readonly poison?: PoisonNote;
}

/** Why a message was poisoned. */
export interface PoisonNote {
  readonly reason: PoisonReason;
  /** The text of the last error, truncated to fit. */
  readonly error: string;
  /** The queue that it came from. */
  readonly queue: string;
  readonly deliveries: number;
}

/** `malformed`: no envelope, or a payload that its type refuses. `failed`: delivered too often. */
export type PoisonReason = 'malformed' | 'failed';

/**
 * How texts are sent: `text`, the JSON itself, or `base64` of its UTF-8 bytes, which readers with
 * older SDKs expect. Both are read.
 */
export type TextEncoding = 'text' | 'base64';

/** A message that is too large for a queue. Nothing was sent. */
export class MessageTooLargeError extends ModelError {
  override readonly name = 'MessageTooLargeError';
}

/** Bytes kept free for a poison note that is added later. */
const noteBytes = 2048;
const bytesMax = messageTextBytesMax - noteBytes;
const errorTextMax = 500;
/** Far less than the stack of a worker can serialise again. */
const levelsMax = 500;

/**
 * Throws `MessageTooLargeError` for an envelope that would not fit into a queue message with a
 * poison note, and `ValueError` for one that is nested too deep for workers.
 */
export function encodeEnvelope(envelope: Envelope, encoding: TextEncoding): string {
  const written = jsonOf(envelope);
  if (isNestedBeyond(Buffer.from(written), levelsMax)) {
    throw new ValueError(
      `a message of type '${envelope.type}' is nested more than ${levelsMax} levels deep; ` +
        'keep such data in a blob and send its key',
    );
  }
  const text = encodeText(written, encoding);
  const bytes = Buffer.byteLength(text);
  if (bytes > bytesMax) {
    throw new MessageTooLargeError(
      `a message of type '${envelope.type}' takes ${bytes} bytes as ${encoding}, more than the ` +
        `${bytesMax} that may be sent; keep large data in a row or a blob and send its key`,
    );
  }
  return text;
}

/** Whether a queue message has room for an envelope, with a poison note. */
export function hasRoom(envelope: Envelope, encoding: TextEncoding): boolean {
  return Buffer.byteLength(encodeText(jsonOf(envelope), encoding)) <= bytesMax;
}

/**
 * The envelope with one more delivery that does not count; the unchanged text when that does not
 * fit.
 */
export function withUncounted(envelope: Envelope, text: string, encoding: TextEncoding): string {
  return recounted({ ...envelope, uncounted: envelope.uncounted + 1 }, text, encoding);
}

/** The envelope with `postponed` incremented; the unchanged text when that does not fit. */
export function postpone(envelope: Envelope, text: string, encoding: TextEncoding): string {
  return recounted({ ...envelope, postponed: (envelope.postponed ?? 0) + 1 }, text, encoding);
}

function recounted(envelope: Envelope, text: string, encoding: TextEncoding): string {
  const counted = encodeText(jsonOf(envelope), encoding);
  return fits(counted) ? counted : text;
}

/**
 * The text for the poison queue: the envelope with a note, or a malformed text with a note beside
 * it. Without a note when both do not fit, because the message matters more.
 */
export function poisonText(
  message: { readonly text: string; readonly envelope: Envelope | undefined },
  note: PoisonNote,
  encoding: TextEncoding,
): string {
  const { text, envelope } = message;
  const withNote = (errorUnitsMax: number) => {
    const poison = { ...note, error: note.error.slice(0, errorUnitsMax) };
    return encodeText(
      envelope ? jsonOf({ ...envelope, poison }) : json({ v: 1, poison, text }),
      encoding,
    );
  };
  return [withNote(errorTextMax), withNote(0)].find(fits) ?? text;
}

/** The text to retry, from that of a poison message: without note and counts. */
export function withoutPoison(text: string, encoding: TextEncoding): string {
  const decoded = decodeEnvelope(text);
  if (decoded.kind === 'malformed') return decoded.text ?? text;
  const { type, version, id, payload } = decoded.envelope;
  const again = encodeText(json({ v: 1, type, version, id, payload }), encoding);
  return fits(again) ? again : text;
}

function fits(text: string): boolean {
  return Buffer.byteLength(text) <= messageTextBytesMax;
}

function jsonOf(envelope: Envelope): string {
  const { type, version, id, payload, uncounted, postponed, poison } = envelope;
  return json({
    v: 1,
    type,
    version,
    id,
    payload,
    ...(uncounted === 0 ? {} : { uncounted }),
    ...(postponed === undefined ? {} : { postponed }),
    ...(poison === undefined ? {} : { poison }),
  });
}

/** JSON that XML can carry, which forbids two code points that JSON does not escape. */
function json(value: unknown): string {
  return JSON.stringify(value).replace(/[\uFFFE\uFFFF]/g, (unit) =>
    unit === '\uFFFE' ? String.raw`\ufffe` : String.raw`\uffff`,
  );
}

function encodeText(text: string, encoding: TextEncoding): string {
  return encoding === 'text' ? text : Buffer.from(text).toString('base64');
}

export type DecodedText =
  | { readonly kind: 'envelope'; readonly envelope: Envelope }
  /** `text`: the original text of a malformed message, which its poison note keeps. */
  | { readonly kind: 'malformed'; readonly reason: string; readonly text?: string };

/** Never throws, because a queue may contain any text. */
export function decodeEnvelope(text: string): DecodedText {
  let value: unknown;
  try {
    const written = jsonBytes(text);
    if (isNestedBeyond(written, levelsMax)) return malformed('the text is nested too deep');
    value = JSON.parse(written.toString());
  } catch {
    return malformed('the text is neither JSON nor JSON in base64');
  }
  if (!isRecord(value)) return malformed('the text is no JSON object');
  const { v, type, version, id, payload, uncounted = 0, postponed, poison, text: kept } = value;
  if (v !== 1) return malformed('its v is not 1');
  if (type === undefined && typeof kept === 'string') {
    return { kind: 'malformed', reason: 'it was malformed before', text: kept };
  }
  if (typeof type !== 'string' || type === '') return malformed('it has no type');
  if (!isCount(version) || version === 0) return malformed('its version is no whole number from 1');
  if (typeof id !== 'string' || id === '') return malformed('it has no id');
  if (payload === undefined) return malformed('it has no payload');
  if (!isCount(uncounted)) return malformed('its uncounted is no count');
  return {
    kind: 'envelope',
    envelope: {
      type,
      version,
      id,
      payload: payload as JsonValue,
      uncounted,
      ...(isCount(postponed) ? { postponed } : {}),
      ...(isNote(poison) ? { poison } : {}),
    },
  };
}

/** JSON objects begin with a brace, which base64 does not contain. */
function jsonBytes(text: string): Buffer {
  const isJson = /^\s*\{/.test(text);
  return Buffer.from(text, isJson ? 'utf8' : 'base64');
}

function malformed(reason: string): DecodedText {
  return { kind: 'malformed', reason };
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

function isNote(value: unknown): value is PoisonNote {
  return (
    isRecord(value) &&
    (value['reason'] === 'malformed' || value['reason'] === 'failed') &&
    typeof value['error'] === 'string' &&
    typeof value['queue'] === 'string' &&
    isCount(value['deliveries'])
  );
}
