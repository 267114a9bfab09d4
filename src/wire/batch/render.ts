import { unreachable } from '../../base/invariant.js';
import type { Randomness } from '../../base/randomness.js';
import { batchMessage, type ErrorStamp } from '../errors/message.js';
import { errorJson, errorODataXml } from '../errors/render.js';
import type { StorageError } from '../../model/errors/storage-error.js';
import { fittingLocations, type LocationHeader } from '../http/header-block.js';
import { contentType, type MetadataLevel } from '../odata/media-type.js';
import { BodyWriter } from './body-writer.js';
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
      /** The etag of a single entity; a set of entities has none. */
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
const noSniffAndCache = noSniff + noCache;
const insertedNoContent = `Preference-Applied: return-no-content\r\n${version3}`;
const locationAndId = ['Location', 'DataServiceId'] as const;
const locationAlone = ['Location'] as const;
const locationStarts = { Location: 'Location: ', DataServiceId: 'DataServiceId: ' } as const;

/** Renders one body at a time, each without an interruption. */
const writer = new BodyWriter();

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
  416: 'Range Not Satisfiable',
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
  writer.begin();
  writer.text(`--${outer}\r\n`);
  switch (outcome.kind) {
    case 'written':
      writeChangeset(context, (open) => {
        for (const part of outcome.parts) writeWritten(open, part);
      });
      break;
    case 'write-failed':
      writeChangeset(context, (open) => {
        writer.text(open);
        writeFailed(outcome, outcome.preferenceApplied, failureJson(outcome, context));
      });
      break;
    case 'found':
      writeFound(outcome);
      break;
    case 'query-failed':
      writer.text(mimeHead);
      writeFailed(outcome, undefined, failureJson(outcome, context));
      break;
    case 'malformed':
      writeMalformed(outcome.error, context);
      break;
    default:
      unreachable(outcome);
  }
  writer.text(`--${outer}--\r\n`);
  return { contentType: `multipart/mixed; boundary=${outer}`, body: writer.finish() };
}

/** `writeParts` receives the text that begins each part. */
function writeChangeset(context: BatchContext, writeParts: (open: string) => void): void {
  const inner = `changesetresponse_${context.randomness.uuid()}`;
  writer.text(`Content-Type: multipart/mixed; boundary=${inner}\r\n\r\n`);
  writeParts(`--${inner}\r\n${mimeHead}`);
  writer.text(`--${inner}--\r\n`);
}

/** Writes texts that are there already: those of most parts only differ in their locations. */
function writeWritten(open: string, part: WrittenPart): void {
  writer.text(open);
  switch (part.kind) {
    case 'inserted-no-content':
      writer.text(noContent);
      writeCommon(part);
      writer.text(insertedNoContent);
      writeLocations(part.location, locationAndId);
      writeEtag(part.etag);
      writer.text('\r\n\r\n');
      break;
    case 'inserted':
      writer.text(`HTTP/1.1 201 Created\r\n${version3}${contentTypeLine(part.level)}`);
      writeCommon(part);
      if (part.preferred) writer.text(preferenceLine('return-content'));
      writeLocations(part.location, locationAlone);
      writeEtag(part.etag);
      writer.text('\r\n');
      writer.bytes(part.body);
      writer.text('\r\n');
      break;
    case 'updated':
      writer.text(noContent);
      writeCommon(part);
      writer.text(version1);
      writeEtag(part.etag);
      writer.text('\r\n\r\n');
      break;
    case 'deleted':
      writer.text(noContent);
      writeCommon(part);
      writer.text(`${version1}\r\n\r\n`);
      break;
    default:
      unreachable(part);
  }
}

function writeCommon({ contentId }: WrittenPart): void {
  if (contentId !== undefined) writer.text(contentIdLine(contentId));
  writer.text(noSniffAndCache);
}

function writeLocations(location: string, wanted: readonly LocationHeader[]): void {
  for (const name of fittingLocations(location, wanted)) {
    writer.text(locationStarts[name]);
    writer.text(location);
    writer.text('\r\n');
  }
}

function writeEtag(etag: string): void {
  writer.text('ETag: ');
  writer.text(etag);
  writer.text('\r\n');
}

function writeFound(found: Extract<BatchOutcome, { kind: 'found' }>): void {
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

function writeMalformed(error: MalformedBatchError, context: BatchContext): void {
  writer.text(
    `${mimeHead}${statusLine(error.status)}Content-Type: application/xml;charset=utf-8\r\n\r\n`,
  );
  writer.bytes(errorODataXml(error.code, error.message, context));
  writer.text('\r\n');
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
