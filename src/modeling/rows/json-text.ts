import { messageOf } from '../../base/thrown.js';
import { ValueError } from './model-error.js';

/** Throws `ValueError` for a value without JSON, such as a function, a circle or a bigint. */
export function jsonTextOf(value: unknown, what: string): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (cause) {
    throw new ValueError(`the ${what} has no JSON: ${messageOf(cause)}`, { cause });
  }
  if (text === undefined) throw new ValueError(`the ${what} has no JSON`);
  return text;
}
