import type { Metadata } from '../../model/resources/metadata.js';
import { element, textElement } from './element.js';

/** The metadata of an item of a list. */
export function metadataElement(metadata: Metadata): string {
  return element('Metadata', metadata.map(renderPair).join(''));
}

/** Metadata names become element names; an invalid one is reported as text. */
function renderPair([name, value]: Metadata[number]): string {
  const isLegal = /^[A-Za-z_]\w*$/.test(name);
  return isLegal ? textElement(name, value) : textElement('x-ms-invalid-name', name);
}
