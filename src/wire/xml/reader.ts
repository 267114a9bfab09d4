import { isUtf8 } from 'node:buffer';
import {
  parseXml as parseDocument,
  XmlDeclaration,
  XmlElement as ElementNode,
  XmlError,
  XmlText,
} from '@rgrove/parse-xml';
import { invalidXmlDocument } from '../../model/errors/query-errors.js';

export interface XmlElement {
  /** With its prefix, if any: namespaces are not resolved. */
  readonly name: string;
  readonly children: readonly XmlElement[];
  /** Character data directly inside, concatenated. */
  readonly text: string;
  /** All character data inside, that of the children included, in the order of the document. */
  readonly textContent: string;
}

/** The maximum number of elements. Five CORS rules have not a tenth of it. */
export const xmlElementsMax = 1_000;

/** The maximum nesting: the library and the conversion recurse. No legal body has a tenth of it. */
export const xmlDepthMax = 100;

export interface XmlLimits {
  /** Default: `xmlElementsMax`, which suits the bodies of requests. */
  readonly elementsMax?: number;
}

/** The longest reason quoted from the library, which may contain a name from the document. */
const reasonLengthMax = 200;

/**
 * The root element of a well-formed document in UTF-8, with or without a byte order mark. Line
 * breaks become line feeds, as XML demands; other white space stays. Attributes, comments and
 * processing instructions are dropped.
 *
 * @throws InvalidXmlDocument, with the reason and where known the place: not well-formed, another
 *   encoding, a document type declaration (so that there is nothing to expand), too many elements,
 *   or too many inside of each other.
 */
export function parseXml(
  body: Buffer,
  { elementsMax = xmlElementsMax }: XmlLimits = {},
): XmlElement {
  if (!isUtf8(body)) throw invalidXmlDocument('The body is not valid UTF-8.');
  // Done before the library, which takes quadratic time for carriage returns.
  const source = body.toString('utf8').replace(/\r\n?/g, '\n');
  checkMarkup(source, elementsMax);
  const { children, root } = parseWellFormed(source);
  const declaration = children[0];
  if (declaration instanceof XmlDeclaration) checkEncoding(declaration);
  if (root === null) throw invalidXmlDocument('The document has no root element.');
  return elementOf(root);
}

/**
 * Skips from markup to markup and over sections with arbitrary text. Counts elements and those that
 * are open, and finds the declaration of a document type; the library reports malformed markup.
 */
function checkMarkup(source: string, elementsMax: number): void {
  let elements = 0;
  let open = 0;
  for (let at = source.indexOf('<'); at >= 0; at = source.indexOf('<', at)) {
    if (source.startsWith('<!--', at)) at = endOf(source, '-->', at + 4);
    else if (source.startsWith('<![CDATA[', at)) at = endOf(source, ']]>', at + 9);
    else if (source.startsWith('<?', at)) at = endOf(source, '?>', at + 2);
    else if (source.startsWith('<!', at)) {
      throw invalidXmlDocument('A document type declaration is not allowed.');
    } else {
      if (source[at + 1] === '/') open -= 1;
      else {
        elements += 1;
        if (!isEmptyElement(source, at)) open += 1;
      }
      if (elements > elementsMax) {
        throw invalidXmlDocument(`The document has more than ${elementsMax} elements.`);
      }
      if (open > xmlDepthMax) {
        throw invalidXmlDocument(`More than ${xmlDepthMax} elements are inside of each other.`);
      }
      at += 1;
    }
  }
}

/**
 * Whether a tag has no end tag, as `<a/>`. What the library will refuse counts as one that has. The
 * next `<` ends the search, so that all tags together are read once.
 */
function isEmptyElement(source: string, tagAt: number): boolean {
  let quote: string | undefined;
  for (let at = tagAt + 1; at < source.length; at += 1) {
    const character = source[at];
    if (character === '<') return false;
    if (quote !== undefined) {
      if (character === quote) quote = undefined;
    } else if (character === '"' || character === "'") quote = character;
    else if (character === '>') return source[at - 1] === '/';
  }
  return false;
}

/** The offset after a delimiter; the end of the source when it is missing. */
function endOf(source: string, delimiter: string, from: number): number {
  const found = source.indexOf(delimiter, from);
  return found < 0 ? source.length : found + delimiter.length;
}

function parseWellFormed(source: string): ReturnType<typeof parseDocument> {
  try {
    return parseDocument(source, { preserveXmlDeclaration: true });
  } catch (error) {
    if (!(error instanceof XmlError)) throw error;
    const reason = (error.message.split(/ \(line \d/, 1)[0] ?? '').slice(0, reasonLengthMax);
    throw invalidXmlDocument(`${reason}.`, { line: error.line, column: error.column });
  }
}

function checkEncoding({ encoding }: XmlDeclaration): void {
  if (encoding === undefined || encoding === null || /^utf-?8$/i.test(encoding)) return;
  throw invalidXmlDocument(`The encoding ${encoding.slice(0, reasonLengthMax)} is not UTF-8.`);
}

function elementOf(node: ElementNode): XmlElement {
  const children: XmlElement[] = [];
  let text = '';
  let textContent = '';
  for (const child of node.children) {
    if (child instanceof XmlText) {
      text += child.text;
      textContent += child.text;
    } else if (child instanceof ElementNode) {
      const element = elementOf(child);
      children.push(element);
      textContent += element.textContent;
    }
  }
  return { name: node.name, children, text, textContent };
}
