import { DefinitionError, ModelError, ValueError } from '../table/errors.js';
import type { JsonValue } from '../definition/structured-types.js';
import type { StandardSchema } from '../definition/standard-schema.js';
import type { Envelope } from './envelope.js';
import { isSchema, schemaPayload, type PayloadCodec } from './payload.js';

/**
 * A kind of message, with the payload type that senders give and the one that handlers read. Made
 * by `defineMessage`.
 */
export interface MessageType<Given, Read> {
  readonly type: string;
  readonly version: number;
  readonly payload: PayloadCodec<Given, Read>;
  readonly upgrades: Upgrades;
}

/** By the version that they upgrade; each makes a payload of the next version. */
export type Upgrades = Readonly<Record<number, (payload: JsonValue) => JsonValue>>;

/** The payload of a message, and its versions. */
export interface MessageOptions<Payload> {
  /** `keyPayload` or `entityPayload` of a definition, or any validator with Standard Schema. */
  readonly payload: Payload;
  /** The version of the payload's shape. Default 1. */
  readonly version?: number;
  /** One for each lower version, so that messages sent before a deployment are understood. */
  readonly upgrades?: Upgrades;
}

/** Throws `DefinitionError` when a lower version has no upgrade. */
export function defineMessage<Output>(
  type: string,
  options: MessageOptions<StandardSchema<Output>>,
): MessageType<Output, Output>;
export function defineMessage<Given, Read>(
  type: string,
  options: MessageOptions<PayloadCodec<Given, Read>>,
): MessageType<Given, Read>;
export function defineMessage(
  type: string,
  options: AnyMessageOptions,
): MessageType<never, unknown> {
  return messageTypeOf(type, options);
}

export type AnyMessageOptions = MessageOptions<StandardSchema | PayloadCodec<never, unknown>>;

/** `defineMessage` without the types of the payload. */
export function messageTypeOf(
  type: string,
  { payload, version = 1, upgrades = {} }: AnyMessageOptions,
): MessageType<never, unknown> {
  if (type === '') throw new DefinitionError('a message type needs a name');
  if (!Number.isSafeInteger(version) || version < 1) {
    throw new DefinitionError(`the version of '${type}' is a whole number from 1, not ${version}`);
  }
  for (let from = 1; from < version; from += 1) {
    if (upgrades[from] === undefined) {
      throw new DefinitionError(`'${type}' has no upgrade from version ${from}`);
    }
  }
  const codec = isSchema(payload) ? schemaPayload(payload) : payload;
  return { type, version, payload: codec, upgrades };
}

/** A message that no reader understands. It goes into the poison queue. */
export class MalformedMessageError extends ModelError {
  override readonly name = 'MalformedMessageError';
}

/** A message that only another version of the program understands. It is left for that one. */
export class UnknownMessageError extends ModelError {
  override readonly name = 'UnknownMessageError';
}

/** The envelope of a new message. Throws `ValueError` for an invalid payload. Sends nothing. */
export async function envelopeOf<Given, Read>(
  message: MessageType<Given, Read>,
  given: Given,
  id: string,
): Promise<Envelope> {
  const { type, version } = message;
  return { type, version, id, payload: await message.payload.encode(given), uncounted: 0 };
}

/**
 * Reads a payload, upgrading older versions. Throws `MalformedMessageError` for an invalid one, and
 * `UnknownMessageError` when it is newer than this program.
 */
export async function readPayload<Given, Read>(
  { type, version, payload, upgrades }: MessageType<Given, Read>,
  envelope: Envelope,
): Promise<Read> {
  if (envelope.version > version) {
    throw new UnknownMessageError(
      `'${type}' ${envelope.id} has version ${envelope.version}; this program knows ${version}`,
    );
  }
  let json = envelope.payload;
  for (let from = envelope.version; from < version; from += 1)
    json = upgrades[from]?.(json) ?? json;
  try {
    return await payload.decode(json);
  } catch (error) {
    if (!(error instanceof ValueError)) throw error;
    throw new MalformedMessageError(`'${type}' ${envelope.id}: ${error.message}`, { cause: error });
  }
}
