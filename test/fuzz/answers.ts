import type { WireResponse } from '../wire/kit/response.js';

/** What is wrong with an answer as such, whatever was asked; undefined when nothing is. */
export function faultOf(method: string, response: WireResponse): string | undefined {
  const { status } = response;
  if (!Number.isInteger(status) || status < 200) return `status ${status}`;
  if (status >= 500 && status !== 501) return `status ${status}`;
  const badHeader = response.headers.find(([name]) => !/^[!#$%&'*+.^_`|~\w-]+$/.test(name));
  if (badHeader !== undefined) return `header ${badHeader.join(': ')}`;
  if (method === 'HEAD') return undefined;
  const type = response.header('content-type') ?? '';
  // Node's parser answers what is no HTTP by itself, and closes.
  if ([400, 431].includes(status) && type === '' && response.text === '') return undefined;
  if (status >= 400) return errorFault(type, response.text);
  if (type.startsWith('multipart/mixed')) return multipartFault(type, response.text);
  if (type.includes('json')) return jsonFault(response.text);
  return undefined;
}

/** One of the three shapes of spec §3.1. */
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
