import { lookup as systemLookup } from 'node:dns/promises';
import { request as plainRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { request as secureRequest } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import type { Clock } from '../../base/clock.js';
import type { Timers } from '../../base/async/timers.js';
import type { Randomness } from '../../base/randomness.js';
import { cannotVerifyCopySource } from '../../model/errors/blob-errors.js';
import { StorageError } from '../../model/errors/storage-error.js';
import { addressClass } from './address-class.js';
import { allowsHost, type SourceRules } from './source-hosts.js';

/** The maximum time until the header of an answer has arrived. */
const headMsMax = 20_000;
/** The maximum time without any byte of an answer. */
const silenceMsMax = 30_000;
/** The time that an answer may take in addition to that of its bytes (`bytesPerMsMin`). */
const slackMs = 60_000;
/** The least rate of a source over the whole of an answer: 16 KiB a second. */
const bytesPerMsMin = 16;
/** Answers of sources that are open at a time. */
const answersMax = 64;

/** The addresses of a name. */
export type Lookup = (hostname: string) => Promise<readonly ResolvedAddress[]>;

export interface ResolvedAddress {
  readonly address: string;
  readonly family: number;
}

export interface SourceClientOptions {
  readonly rules: SourceRules;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly timers: Timers;
  readonly randomness: Randomness;
  /** Default: as the system resolves names. */
  readonly lookup?: Lookup;
}

export interface SourceRequest {
  /** A URL of http or https. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Ends the request and its answer. */
  readonly signal?: AbortSignal | undefined;
}

/** The answer of a source, whatever its status. */
export interface SourceAnswer {
  readonly status: number;
  /** A header by its lower-case name. */
  readonly answerHeader: (name: string) => string | undefined;
  /** Name, value, name, value, … */
  readonly rawHeaders: readonly string[];
  /**
   * The announced bytes: all of them, or a failure. Iterated at most once. The source is only read
   * while a piece is awaited.
   */
  readonly body: AsyncIterable<Buffer>;
  /** Ends the connection. Idempotent; the end of the iteration calls it as well. */
  close(): void;
}

/**
 * Sends requests to other servers, which the rules must allow, for copies from them. A name is
 * resolved once, and the request goes to an address that was checked; redirects are not followed.
 * Every failure is a `CannotVerifyCopySource` that does not show addresses; too many answers at a
 * time are `ServerBusy`.
 */
export class SourceClient {
  readonly rules: SourceRules;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly timers: Timers;
  readonly randomness: Randomness;
  readonly #lookup: Lookup;
  #answers = 0;

  constructor({ rules, clock, timers, randomness, lookup }: SourceClientOptions) {
    this.rules = rules;
    this.clock = clock;
    this.timers = timers;
    this.randomness = randomness;
    this.#lookup = lookup ?? ((hostname) => systemLookup(hostname, { all: true }));
  }

  /** Parses a URL. Refuses one that the rules exclude, before anything is resolved. */
  check(text: string): URL {
    const url = new URL(text);
    const isHttp = url.protocol === 'http:' || url.protocol === 'https:';
    if (isHttp && url.username === '' && url.password === '' && allowsHost(this.rules, url)) {
      return url;
    }
    throw notAllowed();
  }

  /** Resolves when the header of the answer is there. */
  async ask({ url: text, headers, signal }: SourceRequest): Promise<SourceAnswer> {
    const url = this.check(text);
    if (this.#answers >= answersMax) throw new StorageError('ServerBusy');
    this.#answers += 1;
    const ended = new AbortController();
    const end = (): void => ended.abort();
    const timer = this.timers.start(headMsMax, end, undefined);
    signal?.addEventListener('abort', end, { once: true });
    if (signal?.aborted === true) end();
    let isOpen = true;
    const close = (): void => {
      if (!isOpen) return;
      isOpen = false;
      this.#answers -= 1;
      signal?.removeEventListener('abort', end);
      end();
    };
    try {
      const addresses = await unlessAborted(this.#addressesOf(url), ended.signal);
      const response = await answerOf(url, headers, addresses, ended.signal);
      return {
        status: response.statusCode ?? 0,
        answerHeader: (name) => textOf(response.headers[name]),
        rawHeaders: response.rawHeaders,
        body: this.#bodyOf(response, end, close),
        close,
      };
    } catch (error) {
      close();
      throw error instanceof StorageError ? error : unreachableSource(error);
    } finally {
      timer.close();
    }
  }

  /** The addresses of a host, all of which the rules allow. */
  async #addressesOf({ hostname }: URL): Promise<readonly ResolvedAddress[]> {
    const literal = hostname.replace(/^\[|\]$/g, '');
    const family = isIP(literal);
    const found = family > 0 ? [{ address: literal, family }] : await this.#lookup(hostname);
    const isAllowed = found.every(({ address }) => this.#allowsAddress(address));
    if (!isAllowed || found.length === 0) throw notAllowed();
    return found;
  }

  #allowsAddress(address: string): boolean {
    const found = addressClass(address);
    return found === 'public' || (found === 'private' && this.rules.privateNetworks);
  }

  async *#bodyOf(
    response: IncomingMessage,
    end: () => void,
    close: () => void,
  ): AsyncGenerator<Buffer, void, void> {
    const pieces: AsyncIterator<Buffer> = response[Symbol.asyncIterator]();
    let bytes = 0;
    let waitedMs = 0;
    try {
      for (;;) {
        const sinceMs = this.clock.monotonicMs();
        const leftMs = Math.max(1, slackMs + bytes / bytesPerMsMin - waitedMs);
        const timer = this.timers.start(Math.min(silenceMsMax, leftMs), end, undefined);
        const next = await pieces.next().finally(() => timer.close());
        waitedMs += this.clock.monotonicMs() - sinceMs;
        if (next.done === true) return;
        bytes += next.value.length;
        yield next.value;
      }
    } catch (error) {
      throw unreachableSource(error);
    } finally {
      close();
    }
  }
}

function textOf(value: string | string[] | undefined): string | undefined {
  return typeof value === 'string' ? value : value?.join(', ');
}

/** Resolves when the header of the answer has arrived. The connection is not used again. */
function answerOf(
  url: URL,
  headers: Readonly<Record<string, string>>,
  addresses: readonly ResolvedAddress[],
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const options: RequestOptions = {
    method: 'GET',
    agent: false,
    headers: { ...headers, 'accept-encoding': 'identity', connection: 'close' },
    lookup: resolvedTo(addresses),
    signal,
  };
  return new Promise((resolve, reject) => {
    const begin = url.protocol === 'https:' ? secureRequest : plainRequest;
    const request = begin(url, options);
    // Errors after the answer has arrived are reported here as well, and then have no effect.
    request.on('error', reject);
    request.on('close', () => reject(new Error('the connection ended without an answer')));
    request.on('response', (response) => {
      // Without a listener, an error after the iteration has ended would end the process.
      response.on('error', () => undefined);
      resolve(response);
    });
    request.end();
  });
}

/** A lookup that returns the checked addresses: a second real one could return others. */
function resolvedTo(addresses: readonly ResolvedAddress[]): LookupFunction {
  const all = addresses.map(({ address, family }) => ({ address, family }));
  return (_hostname, { all: wantsAll }, callback) => {
    const [first] = all;
    if (wantsAll === true || first === undefined) callback(null, all);
    else callback(null, first.address, first.family);
  };
}

function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(new Error('it took too long'));
    if (signal.aborted) return abort();
    signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

function notAllowed(): StorageError {
  const message =
    'The server copies from its own blobs, and from the sources that its configuration allows.';
  return cannotVerifyCopySource({ status: 403, message });
}

function unreachableSource(cause: unknown): StorageError {
  if (cause instanceof StorageError) return cause;
  const message = 'The source could not be reached, or did not send all that it announced.';
  return cannotVerifyCopySource({ status: 500, message }, cause);
}
