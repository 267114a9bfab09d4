import type { Socket } from 'node:net';
import type { BearerCaller } from '../exchange/caller.js';
import type { Exchange } from '../exchange/exchange.js';
import type { CredentialKind, RequestDetail } from '../exchange/record.js';
import { loggable } from './loggable.js';

/** `HTTP/1.1`, and the spaces and line ends of the first line of a message without its words. */
const requestLineBytes = 12;
/** `HTTP/1.1`, a number of three digits, the spaces and the line end of a status line. */
const statusLineBytes = 15;
/** The colon, space and line end of a header field. */
const fieldBytes = 4;
/** The empty line behind the fields. */
const headEndBytes = 2;

/** The facts of an exchange, read from it when they are asked for. */
export class ExchangeDetail implements RequestDetail {
  readonly #exchange: Exchange;
  readonly #path: string;
  readonly #endMs: number;
  #responseHeadBytes = -1;

  /** `path`: without anything that looks like a signature. */
  constructor(
    exchange: Exchange,
    { path, endMs }: { readonly path: string; readonly endMs: number },
  ) {
    this.#exchange = exchange;
    this.#path = path;
    this.#endMs = endMs;
  }

  get url(): string {
    return this.urlParts.join('');
  }

  get urlParts(): readonly string[] {
    const { protocol, host, queryText } = this.#exchange;
    const place = [protocol, '://', host, this.#path];
    return queryText === '' ? place : [...place, '?', shownQuery(queryText)];
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
    if (this.#responseHeadBytes < 0) this.#responseHeadBytes = responseHeadBytesOf(this.#exchange);
    return this.#responseHeadBytes;
  }

  get serverMs(): number {
    const { startMs, receivedMs, answeredMs } = this.#exchange;
    const begunMs = receivedMs === 0 ? startMs : receivedMs;
    return Math.max(0, (answeredMs === 0 ? this.#endMs : answeredMs) - begunMs);
  }

  get clientAddress(): string | undefined {
    const { socket } = this.#exchange.request;
    const known = clientAddresses.get(socket);
    if (known !== undefined) return known;
    const address = clientAddressOf(socket);
    if (address !== undefined) clientAddresses.set(socket, address);
    return address;
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

function responseHeadBytesOf({ status, answerHeaders, response }: Exchange): number {
  if (status === 0) return 0;
  let bytes = statusLineBytes + (response.statusMessage?.length ?? 0) + headEndBytes;
  for (const text of answerHeaders) bytes += text.length;
  return bytes + (answerHeaders.length / 2) * fieldBytes;
}

/** A connection has many requests. */
const clientAddresses = new WeakMap<Socket, string>();

function clientAddressOf({ remoteAddress, remotePort }: Socket): string | undefined {
  if (remoteAddress === undefined || remotePort === undefined) return undefined;
  if (!remoteAddress.includes(':')) return `${remoteAddress}:${remotePort}`;
  const plain = remoteAddress.replace(/^::ffff:(?=\d+\.)/, '');
  return plain.includes(':') ? `[${plain}]:${remotePort}` : `${plain}:${remotePort}`;
}

/** The text that replaces a signature (blob-service §21.3). */
const hiddenSignature = `sig=${'X'.repeat(5)}`;

function shownQuery(queryText: string): string {
  return queryText.split('&').map(withoutSecret).join('&');
}

/** A part of a query string, without a signature, which may be encoded any number of times. */
function withoutSecret(option: string): string {
  return loggable(option) === option && !/sig\s*=/i.test(option) ? option : hiddenSignature;
}
