import { element, textElement } from './element.js';
import { escapeXml } from './escape.js';

/**
 * The parameters of the request in a page of a list, and where the next page begins. An absent
 * member is not written.
 */
export interface EnumeratedPage {
  readonly prefix?: string;
  readonly marker?: string;
  readonly maxResults?: number;
  /** Absent on the last page, where the element is written empty. */
  readonly nextMarker?: string;
}

type Attribute = readonly [name: string, value: string];

/** The beginning of a list: its root, and what the request asked for. */
export function enumerationStart(
  attributes: readonly Attribute[],
  { prefix, marker, maxResults }: EnumeratedPage,
): string {
  const texts = attributes.map(([name, value]) => ` ${name}="${escapeXml(value)}"`);
  let xml = `<EnumerationResults${texts.join('')}>`;
  if (prefix !== undefined) xml += textElement('Prefix', prefix);
  if (marker !== undefined) xml += textElement('Marker', marker);
  if (maxResults !== undefined) xml += element('MaxResults', String(maxResults));
  return xml;
}

/** The end of a list, behind its items. */
export function enumerationEnd({ nextMarker = '' }: EnumeratedPage): string {
  return `${textElement('NextMarker', nextMarker)}</EnumerationResults>`;
}
