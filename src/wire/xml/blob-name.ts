import { element, textElement } from './element.js';
import { isXmlText } from './escape.js';

/**
 * The name of a blob. One with characters that XML cannot carry is percent-encoded and says so
 * (blob-service §8.4). White space stays as it is.
 */
export function blobNameElement(name: string): string {
  if (isXmlText(name)) return textElement('Name', name);
  return element('Name Encoded="true"', encodeURIComponent(name));
}
