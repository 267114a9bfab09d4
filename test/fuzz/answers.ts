import type { WireResponse } from '../wire/kit/response.js';
import type { FuzzRequest } from './requests.js';

/** A page holds 4 MiB of entities; as JSON they are not much longer. */
const answerBytesMax = 16 * 1024 * 1024;

/** What is wrong with a response, whatever the request; undefined when nothing is. */
export function faultOf(
  { service, method }: Pick<FuzzRequest, 'service' | 'method'>,
  response: WireResponse,
): string | undefined {
  const { status } = response;
  if (!Number.isInteger(status) || status < 200) return `status ${status}`;
  if (status >= 500 && status !== 501) return `status ${status}`;
  if (response.body.length > answerBytesMax) return `a body of ${response.body.length} bytes`;
  const badHeader = response.headers.find(([name]) => !/^[!#$%&'*+.^_`|~\w-]+$/.test(name));
  if (badHeader !== undefined) return `header ${badHeader.join(': ')}`;
  if (method === 'HEAD') return undefined;
  const type = response.header('content-type') ?? '';
  // Node's parser itself answers bytes that are no HTTP, and closes the connection.
  if ([400, 417, 431].includes(status) && type === '' && response.text === '') return undefined;
  if (service === 'queue') return queueFault(status, type, response.text);
  if (status >= 400) return errorFault(type, response.text);
  if (type.startsWith('multipart/mixed')) return multipartFault(type, response.text);
  if (type.includes('json')) return jsonFault(response.text);
  return undefined;
}

/** The body must be XML or empty; for an error it has one form (queue-service §3.3). */
function queueFault(status: number, type: string, text: string): string | undefined {
  if (text === '') return status < 400 ? undefined : `no body for status ${status}`;
  const shape =
    status < 400
      ? /^<\?xml version="1\.0" encoding="utf-8"\?><(\w+)(?: \w+="[^"<]*")?(?:>[^]*<\/\1>| \/>)$/
      : /^<\?xml version="1\.0" encoding="utf-8"\?><Error><Code>\w+<\/Code><Message>[^<]+\nRequestId:[^<]+\nTime:[^<]+Z<\/Message>(?:<(\w+)(?: \/>|>[^<]*<\/\1>))*<\/Error>$/;
  const isWhole = type === 'application/xml' && shape.test(text) && isBalanced(text);
  return isWhole ? undefined : `body of type '${type}': ${text.slice(0, 300)}`;
}

/** True when every element is closed and no character is illegal in XML. */
function isBalanced(text: string): boolean {
  const open: string[] = [];
  for (const [, slash, name = '', empty] of text.matchAll(/<(\/?)([\w-]+)[^>]*?(\/?)>/g)) {
    if (slash === '/') {
      if (open.pop() !== name) return false;
    } else if (empty !== '/') open.push(name);
  }
  return open.length === 0 && Array.from(text).every(isXmlCharacter);
}

function isXmlCharacter(character: string): boolean {
  if (character < ' ') return '\t\n\r'.includes(character);
  return character !== '\ufffe' && character !== '\uffff';
}

/** One of the three shapes of table-service §3.1. */
function errorFault(type: string, text: string): string | undefined {
  if (type.includes('json')) {
    const fault = jsonFault(text);
    if (fault !== undefined) return fault;
    const { code, message } =
      (JSON.parse(text) as { 'odata.error'?: { code?: string; message?: { value?: string } } })[
        'odata.error'
      ] ?? {};
    const isWhole =
      /^\w+$/.test(code ?? '') && /\nRequestId:.+\nTime:.+Z$/.test(message?.value ?? '');
    return isWhole ? undefined : `error ${text}`;
  }
  const isXml =
    type.startsWith('application/xml') &&
    /<(m:)?error [^>]*><(m:)?code>\w+<\/(m:)?code><(m:)?message [^>]*>[^<]+<\/(m:)?message><\/(m:)?error>$/.test(
      text,
    );
  return isXml ? undefined : `error of type '${type}': ${text.slice(0, 300)}`;
}

function jsonFault(text: string): string | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    return `${String(error)}: ${text.slice(0, 300)}`;
  }
}

function multipartFault(type: string, text: string): string | undefined {
  const boundary = /boundary=(\S+)$/.exec(type)?.[1] ?? 'none';
  if (!text.startsWith(`--${boundary}\r\n`) || !text.endsWith(`--${boundary}--\r\n`)) {
    return `not between its boundaries: ${text.slice(0, 300)}`;
  }
  const statuses = [...text.matchAll(/^HTTP\/1\.1 (\d{3}) /gm)].map((match) => Number(match[1]));
  if (statuses.length === 0) return `no part: ${text.slice(0, 300)}`;
  const bad = statuses.find((status) => status < 200 || (status >= 500 && status !== 501));
  return bad === undefined ? undefined : `a part has status ${bad}: ${text.slice(0, 600)}`;
}
