import { textOfIssues, type StandardSchema } from '../definition/standard-schema.js';
import type { JsonValue } from '../definition/structured-types.js';
import { jsonTextOf } from '../rows/json-text.js';
import { ValueError } from '../table/errors.js';

/**
 * Converts a payload to JSON and back. Both methods throw `ValueError` for an invalid payload; any
 * other error counts as a failure of the program.
 */
export interface PayloadCodec<Given, Read> {
  encode(given: Given): JsonValue | Promise<JsonValue>;
  decode(payload: JsonValue): Read | Promise<Read>;
}

/**
 * Payloads that a validator checks, any that implements Standard Schema, before they are sent and
 * when they are read. Its output is sent and read, so one that transforms must accept the JSON of
 * its own output.
 */
export function schemaPayload<Output>(
  schema: StandardSchema<Output>,
): PayloadCodec<Output, Output> {
  const validated = async (value: unknown): Promise<Output> => {
    const result = await schema['~standard'].validate(value);
    if (result.issues !== undefined) throw new ValueError(textOfIssues(result.issues));
    return result.value;
  };
  return {
    encode: async (given) => toJson(await validated(given)),
    decode: validated,
  };
}

export function isSchema(payload: object): payload is StandardSchema {
  return '~standard' in payload;
}

/** The JSON that a reader will see: dates as texts, without `undefined` members. */
function toJson(value: unknown): JsonValue {
  return JSON.parse(jsonTextOf(value, 'payload')) as JsonValue;
}
