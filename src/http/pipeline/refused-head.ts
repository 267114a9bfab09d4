import type { IncomingMessage } from 'node:http';

/**
 * The status that refuses a request whose head the parser accepts; undefined: it is served. 501 for
 * a transfer coding before `chunked`, whose body would be read in its encoded form; 400 when
 * `chunked` is not the last one or there twice (RFC 9112, 6.1 and 6.3). 417 for an expectation
 * besides `100-continue` (RFC 9110, 10.1.1).
 */
export function refusedHead({
  headers,
  httpVersion,
}: Pick<IncomingMessage, 'headers' | 'httpVersion'>): 400 | 417 | 501 | undefined {
  const { 'transfer-encoding': coding, expect } = headers;
  if (coding !== undefined && coding !== 'chunked') {
    const codings = membersOf(coding);
    const isFramed = codings.length === 0 || codings.at(-1) === 'chunked';
    if (!isFramed || codings.indexOf('chunked') < codings.length - 1) return 400;
    if (codings.length > 1) return 501;
  }
  if (expect === undefined || httpVersion === '1.0') return undefined;
  return membersOf(expect).some((each) => each !== '100-continue') ? 417 : undefined;
}

/** The members of a list in a header, in lower case; empty ones count for nothing. */
function membersOf(text: string): readonly string[] {
  return text
    .split(',')
    .map((each) => each.trim().toLowerCase())
    .filter((each) => each !== '');
}
