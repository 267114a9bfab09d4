import { unreachable } from '../../base/invariant.js';
import type { Randomness } from '../../base/randomness.js';
import { batchMessage, type ErrorStamp } from '../errors/message.js';
import { errorJson, errorODataXml } from '../errors/render.js';
import type { StorageError } from '../../model/errors/storage-error.js';
import { fittingLocations, type LocationHeader } from '../http/header-block.js';
import { contentType, type MetadataLevel } from '../odata/media-type.js';
import type { MalformedBatchError } from './malformed.js';

/** The answer to one executed write of a changeset. */
export type WrittenPart =
  | {
      readonly kind: 'inserted';
      readonly contentId: string | undefined;
      /** True when the client asked for the entity by `Prefer`; the answer then confirms it. */
      readonly preferred: boolean;
      readonly level: MetadataLevel;
      readonly location: string;
      readonly etag: string;
      /** The entity as JSON on one line. */
      readonly body: Uint8Array;
    }
  | {
      readonly kind: 'inserted-no-content';
      readonly contentId: string | undefined;
      readonly location: string;
      readonly etag: string;
    }
  | { readonly kind: 'updated'; readonly contentId: string | undefined; readonly etag: string }
  | { readonly kind: 'deleted'; readonly contentId: string | undefined };

/** The context of the part that reports a failure. */
export interface FailedPart {
  readonly error: StorageError;
  readonly contentId: string | undefined;
  /** The level that the failing operation negotiated; minimal metadata when it named none. */
  readonly level: MetadataLevel | undefined;
}

/** The result of a batch. */
export type BatchOutcome =
  | { readonly kind: 'written'; readonly parts: readonly WrittenPart[] }
  | (FailedPart & {
      readonly kind: 'write-failed';
      /**
       * The number of operations in the changeset, which decides whether the message has an index.
       */
      readonly operationCount: number;
      /** Confirmed only when the request has reached storage. */
      readonly preferenceApplied: 'return-content' | 'return-no-content' | undefined;
    })
  | {
      readonly kind: 'found';
      readonly contentId: string | undefined;
      readonly level: MetadataLevel;
      /** Of a single entity; a set of entities has none. */
      readonly etag: string | undefined;
      /** Further headers, such as continuations. */
      readonly headers: readonly (readonly [name: string, value: string])[];
      /** JSON on one line. */
      readonly body: Uint8Array;
    }
  | (FailedPart & { readonly kind: 'query-failed' })
  | { readonly kind: 'malformed'; readonly error: MalformedBatchError };

/** The body of a 202 response and its media type, boundary included. */
export interface BatchResponse {
  readonly contentType: string;
  readonly body: Buffer;
}

export interface BatchContext extends ErrorStamp {
  readonly randomness: Randomness;
}

const noSniff = 'X-Content-Type-Options: nosniff\r\n';
const noCache = 'Cache-Control: no-cache\r\n';
const version1 = 'DataServiceVersion: 1.0;\r\n';
const version3 = 'DataServiceVersion: 3.0;\r\n';
const mimeHead = 'Content-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n';
const noContent = 'HTTP/1.1 204 No Content\r\n';

/** Standard phrases of the statuses in the error registry. */
const reasonPhrases: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  409: 'Conflict',
  411: 'Length Required',
  412: 'Precondition Failed',
  413: 'Request Entity Too Large',
  415: 'Unsupported Media Type',
  500: 'Internal Server Error',
  501: 'Not Implemented',
  503: 'Service Unavailable',
};

/**
 * The body of a batch response, byte for byte as the service orders and spells it (table-service
 * §9.3 to §9.6). The outer status is 202 in every case.
 */
export function renderBatchResponse(outcome: BatchOutcome, context: BatchContext): BatchResponse {
  const outer = `batchresponse_${context.randomness.uuid()}`;
  const writer = new BodyWriter();
  writer.text(`--${outer}\r\n`);
  switch (outcome.kind) {
    case 'written':
      writeChangeset(writer, context, (open) => {
        for (const part of outcome.parts) writeWritten(writer, open, part);
      });
      break;
    case 'write-failed':
      writeChangeset(writer, context, (open) => {
        writer.text(open);
        writeFailed(writer, outcome, outcome.preferenceApplied, failureJson(outcome, context));
      });
      break;
    case 'found':
      writeFound(writer, outcome);
      break;
    case 'query-failed':
      writer.text(mimeHead);
      writeFailed(writer, outcome, undefined, failureJson(outcome, context));
      break;
    case 'malformed':
      writeMalformed(writer, outcome.error, context);
      break;
    default:
      unreachable(outcome);
  }
  writer.text(`--${outer}--\r\n`);
  return { contentType: `multipart/mixed; boundary=${outer}`, body: writer.finish() };
}

/** `writeParts` receives the text that begins each part. */
function writeChangeset(
  writer: BodyWriter,
  context: BatchContext,
  writeParts: (open: string) => void,
): void {
  const inner = `changesetresponse_${context.randomness.uuid()}`;
  writer.text(`Content-Type: multipart/mixed; boundary=${inner}\r\n\r\n`);
  writeParts(`--${inner}\r\n${mimeHead}`);
  writer.text(`--${inner}--\r\n`);
}

function writeWritten(writer: BodyWriter, open: string, part: WrittenPart): void {
  const common = contentIdLine(part.contentId) + noSniff + noCache;
  switch (part.kind) {
    case 'inserted-no-content':
      writer.text(
        `${open}${noContent}${common}Preference-Applied: return-no-content\r\n${version3}` +
          `${locationLines(part.location, ['Location', 'DataServiceId'])}ETag: ${part.etag}\r\n\r\n\r\n`,
      );
      break;
    case 'inserted':
      writer.text(
        `${open}HTTP/1.1 201 Created\r\n${version3}${contentTypeLine(part.level)}${common}` +
          preferenceLine(part.preferred ? 'return-content' : undefined) +
          `${locationLines(part.location, ['Location'])}ETag: ${part.etag}\r\n\r\n`,
      );
      writer.bytes(part.body);
      writer.text('\r\n');
      break;
    case 'updated':
      writer.text(`${open}${noContent}${common}${version1}ETag: ${part.etag}\r\n\r\n\r\n`);
      break;
    case 'deleted':
      writer.text(`${open}${noContent}${common}${version1}\r\n\r\n`);
      break;
    default:
      unreachable(part);
  }
}

function writeFound(writer: BodyWriter, found: Extract<BatchOutcome, { kind: 'found' }>): void {
  const etag = found.etag === undefined ? '' : `ETag: ${found.etag}\r\n`;
  const more = found.headers.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  writer.text(
    `${mimeHead}HTTP/1.1 200 OK\r\n${version3}${contentTypeLine(found.level)}` +
      `${contentIdLine(found.contentId)}${noSniff}${noCache}${more}${etag}\r\n`,
  );
  writer.bytes(found.body);
  writer.text('\r\n');
}

/** An unparsed operation has neither the cache header nor the preference. */
function writeFailed(
  writer: BodyWriter,
  { error, contentId, level }: FailedPart,
  preferenceApplied: string | undefined,
  json: string,
): void {
  const understood = error.noCache ? noCache + preferenceLine(preferenceApplied) : '';
  writer.text(
    `${statusLine(error.status)}${contentIdLine(contentId)}${noSniff}${understood}` +
      `${version3}${contentTypeLine(level ?? 'minimal')}\r\n`,
  );
  writer.bytes(Buffer.from(json));
  writer.text('\r\n');
}

function failureJson(
  outcome: Extract<BatchOutcome, { kind: 'write-failed' | 'query-failed' }>,
  context: BatchContext,
): string {
  const place =
    outcome.kind === 'query-failed'
      ? ({ kind: 'query' } as const)
      : ({ kind: 'changeset', operationCount: outcome.operationCount } as const);
  return errorJson(outcome.error.code, batchMessage(outcome.error, place), context);
}

function writeMalformed(writer: BodyWriter, error: MalformedBatchError, context: BatchContext) {
  writer.text(
    `${mimeHead}${statusLine(error.status)}Content-Type: application/xml;charset=utf-8\r\n\r\n`,
  );
  writer.bytes(errorODataXml(error.code, error.message, context));
  writer.text('\r\n');
}

function locationLines(location: string, wanted: readonly LocationHeader[]): string {
  let lines = '';
  for (const name of fittingLocations(location, wanted)) lines += `${name}: ${location}\r\n`;
  return lines;
}

function statusLine(status: number): string {
  return `HTTP/1.1 ${status} ${reasonPhrases[status] ?? 'Error'}\r\n`;
}

function contentIdLine(contentId: string | undefined): string {
  return contentId === undefined ? '' : `Content-ID: ${contentId}\r\n`;
}

function preferenceLine(preference: string | undefined): string {
  return preference === undefined ? '' : `Preference-Applied: ${preference}\r\n`;
}

function contentTypeLine(level: MetadataLevel): string {
  return `Content-Type: ${contentType(level)}\r\n`;
}

/** Builds a body from headers, which are Latin-1 text, and from bytes, which are copied once. */
class BodyWriter {
  readonly #chunks: Uint8Array[] = [];
  #text = '';

  text(text: string): void {
    this.#text += text;
  }

  bytes(bytes: Uint8Array): void {
    this.#flush();
    this.#chunks.push(bytes);
  }

  finish(): Buffer {
    if (this.#chunks.length === 0) return Buffer.from(this.#text, 'latin1');
    this.#flush();
    return Buffer.concat(this.#chunks);
  }

  #flush(): void {
    this.#chunks.push(Buffer.from(this.#text, 'latin1'));
    this.#text = '';
  }
}
