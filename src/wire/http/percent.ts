import { StorageError } from '../../model/errors/storage-error.js';

/** The error of a path or query string that cannot be read (table-service §2.3 and §3.2). */
export function querySyntaxError(cause?: unknown): StorageError {
  const message = 'Bad Request - Error in query syntax.';
  return new StorageError('InvalidInput', { message, cause });
}

const lone = /\p{Surrogate}/gu;

/** A text with lone surrogates replaced by U+FFFD, so that it can be percent-encoded. */
export function wellFormed(text: string): string {
  return text.replaceAll(lone, '\ufffd');
}

/** A text for a URI: percent-encodes only characters that URIs do not allow. */
export function encodeUriText(text: string): string {
  return encodeURI(wellFormed(text));
}

/** Decodes percent encoding as UTF-8, once. Throws `InvalidInput` when it is malformed. */
export function decodeOnce(text: string): string {
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch (cause) {
    throw querySyntaxError(cause);
  }
}
