import type { BearerCaller } from '../exchange/caller.js';
import type { Exchange } from '../exchange/exchange.js';
import type { CredentialKind, RequestDetail } from '../exchange/record.js';
import { loggable } from './loggable.js';

/** `HTTP/1.1`, and the spaces and line ends of the first line of a message without its words. */
const requestLineBytes = 12;
/** `HTTP/1.1`, a number of three digits, the spaces and the line end of a status line. */
const statusLineBytes = 14;
/** The colon, space and line end of a header field. */
const fieldBytes = 4;
/** The empty line behind the fields. */
const headEndBytes = 2;

/** The facts of an exchange, read from it when they are asked for. */
export class ExchangeDetail implements RequestDetail {
  readonly #exchange: Exchange;
  readonly #endMs: number;

  constructor(exchange: Exchange, endMs: number) {
    this.#exchange = exchange;
    this.#endMs = endMs;
  }

  get url(): string {
    const { protocol, host, path, queryText } = this.#exchange;
    const query = queryText === '' ? '' : `?${queryText.split('&').map(withoutSecret).join('&')}`;
    return `${protocol}://${host}${loggable(path)}${query}`;
  }

  get version(): string {
    return this.#exchange.version;
  }

  get isSecondary(): boolean {
    return this.#exchange.secondary;
  }

  get credential(): CredentialKind {
    const { caller, queryText } = this.#exchange;
    switch (caller.kind) {
      case 'owner':
        return 'key';
      case 'bearer':
        return 'bearer';
      case 'container-sas':
      case 'account-sas':
        return 'sas';
      default: {
        const header = this.#exchange.header('authorization') ?? '';
        if (header !== '') return /^bearer /i.test(header) ? 'bearer' : 'key';
        return /(?:^|&)sig=/i.test(queryText) ? 'sas' : 'none';
      }
    }
  }

  get bearer(): BearerCaller | undefined {
    const { caller } = this.#exchange;
    return caller.kind === 'bearer' ? caller : undefined;
  }

  get hasOwnTimeout(): boolean {
    return /(?:^|&)timeout=/i.test(this.#exchange.queryText);
  }

  get requestHeadBytes(): number {
    const { method, headCharacters, rawHeaders } = this.#exchange;
    const fields = (rawHeaders.length / 2) * fieldBytes;
    return requestLineBytes + method.length + headCharacters + fields + headEndBytes;
  }

  get responseHeadBytes(): number {
    const { status, answerHeaders, response } = this.#exchange;
    if (status === 0) return 0;
    let bytes = statusLineBytes + (response.statusMessage?.length ?? 0) + headEndBytes;
    for (const text of answerHeaders) bytes += text.length;
    return bytes + (answerHeaders.length / 2) * fieldBytes;
  }

  get serverMs(): number {
    const { startMs, receivedMs, answeredMs } = this.#exchange;
    const begunMs = receivedMs === 0 ? startMs : receivedMs;
    return Math.max(0, (answeredMs === 0 ? this.#endMs : answeredMs) - begunMs);
  }

  get clientAddress(): string | undefined {
    const { remoteAddress, remotePort } = this.#exchange.request.socket;
    if (remoteAddress === undefined || remotePort === undefined) return undefined;
    if (!remoteAddress.includes(':')) return `${remoteAddress}:${remotePort}`;
    const plain = remoteAddress.replace(/^::ffff:(?=\d+\.)/, '');
    return plain.includes(':') ? `[${plain}]:${remotePort}` : `${plain}:${remotePort}`;
  }

  requestHeader(name: string): string | undefined {
    return this.#exchange.header(name);
  }

  responseHeader(name: string): string | undefined {
    const { answerHeaders } = this.#exchange;
    for (let at = 0; at < answerHeaders.length; at += 2) {
      const header = answerHeaders[at];
      // Most differ in length, which costs less to see.
      if (header?.length === name.length && header.toLowerCase() === name) {
        return answerHeaders[at + 1];
      }
    }
    return undefined;
  }
}

/** What stands for a signature (blob-service §21.3). */
const hiddenSignature = `sig=${'X'.repeat(5)}`;

/** A part of a query string, without a signature, which may be encoded any number of times. */
function withoutSecret(option: string): string {
  return loggable(option) === option && !/sig\s*=/i.test(option) ? option : hiddenSignature;
}
