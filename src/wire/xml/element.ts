import { escapeXml } from './escape.js';

/** The first line of every XML body, as clients and recordings of the cloud service expect. */
const xmlDeclaration = '<?xml version="1.0" encoding="utf-8"?>';

/** A whole document as sent: UTF-8 without a byte order mark (queue-service §3.2). */
export function xmlDocument(root: string): Buffer {
  return Buffer.from(xmlDeclaration + root);
}

/** The characters of XML that are encoded at a time. */
const pieceCharacters = 64 * 1024;

/** A long document, assembled in pieces so that no step takes long. */
export class LongDocument {
  readonly #pieces: Buffer[] = [];
  #text = xmlDeclaration;

  /** Appends XML. */
  add(xml: string): void {
    this.#text += xml;
    if (this.#text.length < pieceCharacters) return;
    this.#pieces.push(Buffer.from(this.#text));
    this.#text = '';
  }

  /** The whole document, encoded. */
  result(): Buffer {
    return Buffer.concat([...this.#pieces, Buffer.from(this.#text)]);
  }
}

/** An element with XML content. The name may carry attributes. */
export function element(name: string, content: string): string {
  if (content === '') return `<${name} />`;
  const end = name.indexOf(' ');
  return `<${name}>${content}</${end < 0 ? name : name.slice(0, end)}>`;
}

/** An element with text content. */
export function textElement(name: string, text: string): string {
  return element(name, escapeXml(text));
}
