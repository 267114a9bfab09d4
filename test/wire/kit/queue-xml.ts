import assert from 'node:assert/strict';
import type { WireResponse } from './response.js';

/** The children of a `QueueMessage` by element name; missing ones are undefined. */
export type QueueMessage = Readonly<
  Partial<
    Record<
      | 'MessageId'
      | 'InsertionTime'
      | 'ExpirationTime'
      | 'PopReceipt'
      | 'TimeNextVisible'
      | 'DequeueCount'
      | 'MessageText',
      string
    >
  >
>;

export const xmlDeclaration = '<?xml version="1.0" encoding="utf-8"?>';

const entities: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
};

function unescapeXml(text: string): string {
  return text.replace(/&(?:#x([0-9a-fA-F]+)|#(\d+)|(\w+));/g, (whole, hex, decimal, name) => {
    if (hex !== undefined) return String.fromCodePoint(Number.parseInt(hex, 16));
    if (decimal !== undefined) return String.fromCodePoint(Number(decimal));
    return entities[name] ?? whole;
  });
}

/**
 * The children of an element without deeper levels: `<a>1</a><b />`. White space in between is
 * ignored.
 */
export function childrenOf(xml: string): [name: string, text: string][] {
  const pattern = /\s*<([\w-]+)(?: \/>|\/>|>([^<]*)<\/\1>)\s*/gy;
  const children: [string, string][] = [];
  let end = 0;
  for (let match = pattern.exec(xml); match !== null; match = pattern.exec(xml)) {
    children.push([match[1] ?? '', unescapeXml(match[2] ?? '')]);
    end = pattern.lastIndex;
  }
  assert.equal(end, xml.length, `children without children of their own: ${xml}`);
  return children;
}

/** The text of the only element with this name; undefined when there is none. */
export function elementText(xml: string, name: string): string | undefined {
  const [found, ...others] = xml.matchAll(new RegExp(`<${name}(?: ?/>|>([^<]*)</${name}>)`, 'g'));
  assert.deepEqual(others, [], `more than one ${name} in ${xml}`);
  return found === undefined ? undefined : unescapeXml(found[1] ?? '');
}

/** The texts of all elements with this name, in order. */
export function elementTexts(xml: string, name: string): string[] {
  const found = xml.matchAll(new RegExp(`<${name}>([^<]*)</${name}>`, 'g'));
  return [...found].map((match) => unescapeXml(match[1] ?? ''));
}

/** The content of a document whose root element has this name and no attributes. */
export function insideOf(xml: string, root: string): string {
  const text = xml.slice(xmlDeclaration.length);
  assert.ok(xml.startsWith(xmlDeclaration), `an XML declaration in front: ${xml.slice(0, 100)}`);
  if (text === `<${root} />` || text === `<${root}/>`) return '';
  assert.ok(text.startsWith(`<${root}>`) && text.endsWith(`</${root}>`), `${root}: ${text}`);
  return text.slice(root.length + 2, -root.length - 3);
}

/** The messages of a response to put, get or peek, in order. */
export function messagesOf(response: WireResponse): QueueMessage[] {
  assert.equal(response.header('content-type'), 'application/xml');
  const list = insideOf(response.text, 'QueueMessagesList');
  const messages = [...list.matchAll(/<QueueMessage>([^]*?)<\/QueueMessage>/g)];
  assert.equal(messages.map(([whole]) => whole).join(''), list, 'messages and nothing else');
  return messages.map((match) => Object.fromEntries(childrenOf(match[1] ?? '')));
}
