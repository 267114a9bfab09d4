import {
  invalidXmlDocument,
  invalidXmlNode,
  missingXmlNode,
  unsupportedXmlNode,
} from '../../model/errors/query-errors.js';
import type { XmlElement } from './reader.js';

// The content model of elements. Each fault has the code that the queue service documents for it
// (queue-service §6.2) and names the element.

/** @throws InvalidXmlDocument when the root of a body has another name. */
export function expectRoot(root: XmlElement, name: string): void {
  if (root.name === name) return;
  throw invalidXmlDocument(`The root element is ${root.name}, not ${name}.`);
}

/**
 * The children of an element that contains only elements, each at most once, in any order.
 *
 * @throws UnsupportedXmlNode for a name that is not among `allowed`; InvalidXmlDocument for one
 * that repeats, and for text.
 */
export function childrenOf<Name extends string>(
  parent: XmlElement,
  allowed: readonly Name[],
): ReadonlyMap<Name, XmlElement> {
  const children = new Map<Name, XmlElement>();
  for (const child of elementsOf(parent)) {
    const name = allowed.find((candidate) => candidate === child.name);
    if (name === undefined) throw unsupportedXmlNode(child.name);
    if (children.has(name)) {
      throw invalidXmlDocument(`${parent.name} holds more than one ${name}.`);
    }
    children.set(name, child);
  }
  return children;
}

/**
 * The children of an element that is a list of elements of one name.
 *
 * @throws UnsupportedXmlNode for another name, InvalidXmlDocument for text.
 */
export function itemsOf(parent: XmlElement, name: string): readonly XmlElement[] {
  const items = elementsOf(parent);
  const stranger = items.find((item) => item.name !== name);
  if (stranger !== undefined) throw unsupportedXmlNode(stranger.name);
  return items;
}

/**
 * The children of an element that contains only elements, in their order.
 *
 * @throws InvalidXmlDocument for text.
 */
export function elementsOf(parent: XmlElement): readonly XmlElement[] {
  if (parent.text.trim() !== '') {
    throw invalidXmlDocument(`${parent.name} holds text between its elements.`);
  }
  return parent.children;
}

/** @throws MissingRequiredXmlNode */
export function required<Name extends string>(
  children: ReadonlyMap<Name, XmlElement>,
  name: Name,
): XmlElement {
  const child = children.get(name);
  if (child === undefined) throw missingXmlNode(name);
  return child;
}

/** The text of an element without children. @throws UnsupportedXmlNode for a child. */
export function textOf(leaf: XmlElement): string {
  const child = leaf.children[0];
  if (child !== undefined) throw unsupportedXmlNode(child.name);
  return leaf.text;
}

/** @throws InvalidXmlNodeValue for anything but `true` and `false`. */
export function booleanOf(leaf: XmlElement): boolean {
  const text = textOf(leaf).trim();
  if (text !== 'true' && text !== 'false') {
    throw invalidXmlNode(leaf.name, text, 'It must be true or false.');
  }
  return text === 'true';
}

/** @throws InvalidXmlNodeValue for anything but decimal digits whose value is in the range. */
export function integerOf(leaf: XmlElement, min: number, max: number): number {
  const text = textOf(leaf).trim();
  const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= min && value <= max)) {
    throw invalidXmlNode(leaf.name, text, `It must be an integer from ${min} to ${max}.`);
  }
  return value;
}
