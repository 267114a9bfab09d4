import { unreachable } from '../../base/invariant.js';
import { contentType, type MetadataLevel } from '../odata/media-type.js';
import { escapeXml } from '../xml/escape.js';
import { stampedMessage, type ErrorStamp } from './message.js';
import { errorDefinition, type ErrorCode, type ErrorShape } from './registry.js';
import type { StorageError } from './storage-error.js';

export interface ErrorContext extends ErrorStamp {
  /** What the request negotiated; undefined when it named no JSON format (spec §3.1 c). */
  readonly level: MetadataLevel | undefined;
}

/** An error response but for the headers that every response has. */
export interface RenderedError {
  readonly status: number;
  /** The reason phrase, where the service does not send the standard one. */
  readonly reason: string | undefined;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Buffer;
}

/** Longest reason phrase sent; some clients read the status line into a small buffer. */
const reasonLengthMax = 256;

const xmlDeclaration = '<?xml version="1.0" encoding="utf-8"?>';
const metadataNamespace = 'http://schemas.microsoft.com/ado/2007/08/dataservices/metadata';

/** Says that a token would have been welcome; SDK policies parse it (spec §8.1). */
const bearerChallenge =
  'Bearer authorization_uri=https://login.microsoftonline.com/common/oauth2/authorize resource_id=https://storage.azure.com';

/** The code as clients see it. */
export function wireCode(code: ErrorCode): string {
  return errorDefinition(code).wireCode ?? code;
}

/** Shape (a): compact, because a client searches it for `"value":"` and a digit (spec §12 no. 6). */
export function errorJson(code: ErrorCode, message: string, stamp: ErrorStamp): string {
  const value = JSON.stringify(stampedMessage(message, stamp));
  return `{"odata.error":{"code":"${wireCode(code)}","message":{"lang":"en-US","value":${value}}}}`;
}

/** Shape (c). */
export function errorODataXml(code: ErrorCode, message: string, stamp: ErrorStamp): string {
  const text = escapeXml(stampedMessage(message, stamp));
  return `${xmlDeclaration}<error xmlns="${metadataNamespace}"><code>${wireCode(code)}</code><message xml:lang="en-US">${text}</message></error>`;
}

function errorFrontDoorXml(code: ErrorCode, message: string, stamp: ErrorStamp): string {
  const text = escapeXml(stampedMessage(message, stamp));
  return `${xmlDeclaration}<m:error xmlns:m="${metadataNamespace}"><m:code>${wireCode(code)}</m:code><m:message xml:lang="en-US">${text}</m:message></m:error>`;
}

/** The layer that failed decides; an OData error follows the negotiated format. */
function shapeOf(code: ErrorCode, level: MetadataLevel | undefined): ErrorShape {
  const { shape } = errorDefinition(code);
  return shape === 'odata-json' && level === undefined ? 'odata-xml' : shape;
}

/**
 * The response to a failed request in the shape of the layer that failed (spec §3.1). All shapes
 * carry `x-ms-error-code`; the service omits it in JSON, and code written against emulators reads it.
 */
export function renderError(error: StorageError, context: ErrorContext): RenderedError {
  const { code, message, status } = error;
  const codeHeader = ['x-ms-error-code', wireCode(code)] as const;
  const shape = shapeOf(code, context.level);
  switch (shape) {
    case 'odata-json':
      return {
        status,
        reason: undefined,
        headers: [...jsonHeaders(code, context.level ?? 'minimal'), codeHeader],
        body: Buffer.from(errorJson(code, message, context)),
      };
    case 'odata-xml':
      return {
        status,
        reason: undefined,
        headers: [['Content-Type', 'application/xml;charset=utf-8'], codeHeader],
        body: Buffer.from(errorODataXml(code, message, context)),
      };
    case 'front-door-xml':
      return {
        status,
        reason: reasonPhrase(message),
        headers: [['Content-Type', 'application/xml'], codeHeader, ...challenge(status)],
        body: Buffer.from(errorFrontDoorXml(code, message, context)),
      };
    default:
      return unreachable(shape);
  }
}

function jsonHeaders(code: ErrorCode, level: MetadataLevel): RenderedError['headers'] {
  const common = [
    ['Content-Type', contentType(level)],
    ['X-Content-Type-Options', 'nosniff'],
  ] as const;
  const isStorage = errorDefinition(code).layer === 'storage';
  return isStorage ? [['Cache-Control', 'no-cache'], ...common] : common;
}

function challenge(status: number): RenderedError['headers'] {
  return status === 401 ? [['WWW-Authenticate', bearerChallenge]] : [];
}

/** The message as a status line can hold it: one line of visible ASCII. */
function reasonPhrase(message: string): string {
  return message.slice(0, reasonLengthMax).replace(/[^\x20-\x7e]/g, '?');
}
