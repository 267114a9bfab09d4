import { StorageError } from '../../model/errors/storage-error.js';
import { parseXml, type XmlElement } from '../../wire/xml/reader.js';
import { CommandFailure } from '../terminal/failure.js';

/** Enough elements for the largest answer: a page of queues with metadata. */
const elementsMax = 200_000;

/** The root element of an answer. Throws `CommandFailure` for any other document. */
export function xmlAnswer(body: Buffer, rootName: string): XmlElement {
  const root = parsed(body);
  if (root.name === rootName) return root;
  throw new CommandFailure(`The answer is a document of ${root.name}, not of ${rootName}.`);
}

function parsed(body: Buffer): XmlElement {
  try {
    return parseXml(body, { elementsMax });
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    throw new CommandFailure(`The answer cannot be read as XML: ${error.message}`);
  }
}

/** Throws `CommandFailure` when the element has no such child. */
export function childOf(element: XmlElement, name: string): XmlElement {
  const child = element.children.find((each) => each.name === name);
  if (child !== undefined) return child;
  throw new CommandFailure(`The answer has an element ${element.name} without ${name}.`);
}

/** The text of a child; empty when there is none. */
export function childText(element: XmlElement | undefined, name: string): string {
  return element?.children.find((child) => child.name === name)?.text ?? '';
}
