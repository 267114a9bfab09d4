import { inSlices, type Pieces } from '../../base/async/slice.js';
import { retry } from '../../base/async/retry.js';
import { sleep } from '../../base/async/sleep.js';
import { cannotVerifyCopySource } from '../../model/errors/blob-errors.js';
import { StorageError } from '../../model/errors/storage-error.js';
import type { Tags } from '../../model/blobs/tags.js';
import {
  tooManyForeignRanges,
  type ForeignBlob,
  type ForeignBlock,
  type ForeignSource,
} from '../../services/blobs/foreign-blob.js';
import { foreignPageRangesMax } from '../../services/blobs/limits.js';
import type { Bounds } from '../../services/blobs/byte-run.js';
import type { Body } from '../../services/blobs/types.js';
import { pageBytes, type RequestedRange } from '../../wire/blobs/byte-ranges.js';
import { answeredRange, readSourceProperties } from '../../wire/blobs/source-answer.js';
import { committedBlocksIn, pagesIn } from '../../wire/xml/blob-layout.js';
import { parseBlobTags } from '../../wire/xml/blob-tags.js';
import { metadataOf } from '../operations/metadata.js';
import type { SourceAnswer, SourceClient } from '../sources/source-client.js';

/** The address of a source on another server. */
export interface ForeignAddress {
  /** The URL, with its signature. */
  readonly href: string;
  /** The credential of the source, and the version of the protocol. */
  readonly headers: Readonly<Record<string, string>>;
  /** The headers with conditions on the source. */
  readonly conditions: Readonly<Record<string, string>>;
  readonly copiesTags: boolean;
}

/** A foreign blob, and the requested range of its bytes. */
export interface OpenedForeign {
  readonly blob: ForeignBlob;
  /** The range that `body` has. */
  readonly bounds: Bounds;
  readonly body: Body;
  /** Headers with conditions that hold as long as the blob is unchanged. */
  readonly marks: Readonly<Record<string, string>>;
  /** True when the source is a blob, which can list its blocks and pages, and not another file. */
  readonly isBlob: boolean;
  /** Closes the body. Idempotent. */
  close(): void;
}

/** The longest list of blocks or pages. */
const listBytesMax = 16 * 1024 * 1024;
const tagsBytesMax = 64 * 1024;
/** Parts of a list of pages that are read in sequence, at most. */
const pageListsMax = 1_000;
/** Attempts to get an answer. */
const attemptsMax = 5;
/** How often the answers to one read may break off. */
const breaksMax = 100;
const backOffMs = { first: 500, last: 10_000 };

/**
 * Requests a foreign blob. Throws `CannotVerifyCopySource` for a source that the rules exclude,
 * that has too many bytes or that refuses, with its status; `SourceConditionNotMet`.
 */
export async function openForeign(
  sources: SourceClient,
  place: ForeignAddress,
  {
    range,
    signal,
  }: { readonly range?: RequestedRange | undefined; readonly signal?: AbortSignal | undefined },
): Promise<OpenedForeign> {
  const { href: url, headers, conditions } = place;
  const answer = await sources.ask({
    url,
    headers: { ...headers, ...conditions, ...rangeHeader(range) },
    signal,
  });
  try {
    const { bounds, bytes } = boundsOf(answer, range);
    if (bytes > sources.rules.bytesMax) throw tooLong(sources.rules.bytesMax);
    const { isBlob, ...properties } = readSourceProperties(answer.answerHeader);
    const tags = place.copiesTags ? await tagsOf(sources, place, signal) : [];
    return {
      blob: { ...properties, bytes, metadata: metadataOf(answer), tags },
      bounds,
      body: answer.body,
      marks: marksOf(answer),
      isBlob,
      close: () => answer.close(),
    };
  } catch (error) {
    answer.close();
    throw error;
  }
}

function rangeHeader(range: RequestedRange | undefined): Record<string, string> {
  if (range === undefined) return {};
  return { range: `bytes=${range.first}-${range.last ?? ''}` };
}

function tooLong(bytesMax: number): StorageError {
  const message = `The source has more bytes than the server copies: ${bytesMax}.`;
  return cannotVerifyCopySource({ status: 409, message });
}

/** The range in an answer. Throws when the answer does not have the requested bytes. */
function boundsOf(
  answer: SourceAnswer,
  range: RequestedRange | undefined,
): { readonly bounds: Bounds; readonly bytes: number } {
  const { status, answerHeader } = answer;
  if (status !== 200 && status !== 206) throw refusalOf(answer);
  const answered = answeredRange(status, answerHeader);
  if (answered === undefined) throw unusable('The source does not tell how many bytes it has.');
  const { first, last, totalBytes } = answered;
  const wantedLast = Math.min(range?.last ?? Infinity, totalBytes - 1);
  if (first !== (range?.first ?? 0) || last !== wantedLast) {
    throw unusable('The source does not answer with the range that was asked for.');
  }
  return { bounds: { start: first, end: last + 1 }, bytes: totalBytes };
}

function unusable(message: string): StorageError {
  return cannotVerifyCopySource({ status: 400, message });
}

const codeForm = /^[A-Za-z]{1,100}$/;

function refusalOf({ status, answerHeader }: SourceAnswer): StorageError {
  if (status === 304 || status === 412) return new StorageError('SourceConditionNotMet');
  if (status >= 300 && status < 400) {
    return unusable('The source refers to another address, and the server follows none.');
  }
  const given = answerHeader('x-ms-error-code');
  const code = given !== undefined && codeForm.test(given) ? given : undefined;
  const message = `The source has answered with status ${status}.`;
  const isRefusal = status >= 400 && status < 500;
  return cannotVerifyCopySource({ status: isRefusal ? status : 500, code, message });
}

/** Headers with conditions that hold as long as the source is unchanged. */
function marksOf({ answerHeader }: SourceAnswer): Record<string, string> {
  const etag = answerHeader('etag');
  if (etag !== undefined && !etag.startsWith('W/')) return { 'if-match': etag };
  const modified = answerHeader('last-modified');
  return modified === undefined ? {} : { 'if-unmodified-since': modified };
}

/** The URL of something else than the bytes of the blob. */
function partOf(href: string, options: string): string {
  return `${href}${href.includes('?') ? '&' : '?'}${options}`;
}

async function tagsOf(
  sources: SourceClient,
  { href, headers }: ForeignAddress,
  signal: AbortSignal | undefined,
): Promise<Tags> {
  const url = partOf(href, 'comp=tags');
  return parseBlobTags(await document(sources, { url, headers, signal }, tagsBytesMax));
}

async function document(
  sources: SourceClient,
  request: Parameters<SourceClient['ask']>[0],
  bytesMax: number,
): Promise<Buffer> {
  const answer = await sources.ask(request);
  try {
    if (answer.status !== 200) throw refusalOf(answer);
    const pieces: Buffer[] = [];
    let bytes = 0;
    for await (const piece of answer.body) {
      bytes += piece.length;
      if (bytes > bytesMax) throw unusable('The source has answered with too long a list.');
      pieces.push(piece);
    }
    return Buffer.concat(pieces);
  } finally {
    answer.close();
  }
}

/**
 * The source of a copy that continues after the request was answered. Every read fails when the
 * source has changed, and continues after a connection has ended early.
 */
export function laterSource(
  sources: SourceClient,
  place: ForeignAddress,
  { blob, marks, isBlob }: Pick<OpenedForeign, 'blob' | 'marks' | 'isBlob'>,
): ForeignSource {
  const same = { ...place, conditions: marks, copiesTags: false };
  return {
    blob,
    blocks: (signal) => (isBlob ? blocksOf(sources, same, signal) : Promise.resolve([])),
    pages: (signal) => pagesOf(sources, same, { signal, bytes: blob.bytes }),
    read: (bounds, signal) => readOn(sources, same, { bounds, signal, blob }),
  };
}

/** A source whose bytes are read once, during the request. */
export function onceSource(blob: ForeignBlob, body: Body): ForeignSource {
  return {
    blob,
    blocks: () => Promise.resolve([]),
    pages: () => Promise.resolve([]),
    read: () => body,
  };
}

async function blocksOf(
  sources: SourceClient,
  { href, headers }: ForeignAddress,
  signal: AbortSignal,
): Promise<readonly ForeignBlock[]> {
  const url = partOf(href, 'comp=blocklist&blocklisttype=committed');
  const read = (): Promise<Buffer> => document(sources, { url, headers, signal }, listBytesMax);
  const body = await persistently(sources, signal, read);
  return (await sliced(sources, committedBlocksIn(body))) ?? [];
}

async function pagesOf(
  sources: SourceClient,
  { href, headers, conditions }: ForeignAddress,
  { signal, bytes }: { readonly signal: AbortSignal; readonly bytes: number },
): Promise<readonly Bounds[]> {
  const found: Bounds[] = [];
  let marker = '';
  for (let count = 0; count < pageListsMax; count += 1) {
    const url = partOf(href, `comp=pagelist${marker}`);
    const asked = { url, headers: { ...headers, ...conditions }, signal };
    const read = (): Promise<Buffer> => document(sources, asked, listBytesMax);
    const list = await sliced(sources, pagesIn(await persistently(sources, signal, read)));
    if (list === undefined) throw unusable('The source has answered with an unknown list.');
    for (const { start, end } of list.pages) {
      const isInOrder = start >= (found.at(-1)?.end ?? 0) && start < end && end <= bytes;
      const isOfPages = start % pageBytes === 0 && end % pageBytes === 0;
      if (!isInOrder || !isOfPages) {
        throw unusable('The source has answered with an impossible list.');
      }
      if (found.length >= foreignPageRangesMax) throw tooManyForeignRanges();
      found.push({ start, end });
    }
    if (list.nextMarker === undefined) return found;
    marker = `&marker=${encodeURIComponent(list.nextMarker)}`;
  }
  throw unusable('The source has answered with too long a list.');
}

function sliced<T>({ clock }: SourceClient, work: Pieces<T>): Promise<T> {
  return inSlices(work, clock);
}

/** True for failures of the network and of busy servers, which may be temporary. */
function mayPass(error: unknown): boolean {
  return error instanceof StorageError && error.status >= 500;
}

function persistently<T>(
  { timers, randomness }: SourceClient,
  signal: AbortSignal,
  attempt: () => Promise<T>,
): Promise<T> {
  const isRetryable = mayPass;
  return retry({ attemptsMax, backOffMs, timers, randomness, signal, isRetryable }, attempt);
}

interface Reading {
  readonly bounds: Bounds;
  readonly signal: AbortSignal;
  readonly blob: ForeignBlob;
}

async function* readOn(
  sources: SourceClient,
  place: ForeignAddress,
  { bounds, signal, blob }: Reading,
): AsyncGenerator<Buffer, void, void> {
  let at = bounds.start;
  let breaks = 0;
  while (at < bounds.end) {
    const range = { first: at, last: bounds.end - 1 };
    const isAll = at === 0 && bounds.end === blob.bytes;
    const opened = await persistently(sources, signal, () =>
      openForeign(sources, place, { range: isAll ? undefined : range, signal }),
    );
    try {
      if (opened.blob.bytes !== blob.bytes) throw new StorageError('SourceConditionNotMet');
      for await (const piece of opened.body) {
        at += piece.length;
        yield piece;
      }
    } catch (error) {
      breaks += 1;
      if (signal.aborted || !mayPass(error) || breaks > breaksMax) throw error;
    } finally {
      opened.close();
    }
    if (at < bounds.end) await sleep(sources.timers, backOffMs.first, signal);
  }
}
