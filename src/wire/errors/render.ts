import { unreachable } from '../../base/invariant.js';
import { contentType, type MetadataLevel } from '../odata/media-type.js';
import { element, textElement, xmlDocument } from '../xml/element.js';
import { stampedMessage, type ErrorStamp } from './message.js';
import type { ErrorShape } from '../../model/errors/definition.js';
import { errorDefinition, type ErrorCode } from '../../model/errors/registry.js';
import type { StorageError } from '../../model/errors/storage-error.js';
import { renderStorageXmlError, xmlError, type RenderedError } from './storage-xml.js';

export interface ErrorContext extends ErrorStamp {
  /**
   * The negotiated level; undefined when the request named no JSON format (table-service §3.1 c).
   */
  readonly level: MetadataLevel | undefined;
}

const metadataNamespace = 'http://schemas.microsoft.com/ado/2007/08/dataservices/metadata';

/** The code as clients of tables see it. */
function tableCode(code: ErrorCode): string {
  return errorDefinition(code).tableCode ?? code;
}

/**
 * Shape (a): compact, because a client searches it for `"value":"` and a digit (table-service §12
 * no. 6).
 */
export function errorJson(code: ErrorCode, message: string, stamp: ErrorStamp): string {
  const value = JSON.stringify(stampedMessage(message, stamp));
  return `{"odata.error":{"code":"${tableCode(code)}","message":{"lang":"en-US","value":${value}}}}`;
}

/** Shape (c). */
export function errorODataXml(code: ErrorCode, message: string, stamp: ErrorStamp): Buffer {
  const children = [
    textElement('code', tableCode(code)),
    textElement('message xml:lang="en-US"', stampedMessage(message, stamp)),
  ];
  return xmlDocument(element(`error xmlns="${metadataNamespace}"`, children.join('')));
}

/** Shape (b). */
function errorFrontDoorXml(code: ErrorCode, message: string, stamp: ErrorStamp): Buffer {
  const children = [
    textElement('m:code', tableCode(code)),
    textElement('m:message xml:lang="en-US"', stampedMessage(message, stamp)),
  ];
  return xmlDocument(element(`m:error xmlns:m="${metadataNamespace}"`, children.join('')));
}

/** The shape depends on the layer that failed; an OData error follows the negotiated format. */
function shapeOf({ shape }: StorageError, level: MetadataLevel | undefined): ErrorShape {
  return shape === 'odata-json' && level === undefined ? 'odata-xml' : shape;
}

/**
 * The response to a failed request of the table service, in the shape of the layer that failed
 * (table-service §3.1). All shapes carry `x-ms-error-code`; the service omits it in JSON, but code
 * written against emulators reads it.
 */
export function renderError(error: StorageError, context: ErrorContext): RenderedError {
  const { code, message, status } = error;
  const codeHeader = ['x-ms-error-code', tableCode(code)] as const;
  const shape = shapeOf(error, context.level);
  switch (shape) {
    case 'odata-json':
      return {
        status,
        reason: undefined,
        headers: [...jsonHeaders(error, context.level ?? 'minimal'), codeHeader],
        body: Buffer.from(errorJson(code, message, context)),
      };
    case 'odata-xml':
      return {
        status,
        reason: undefined,
        headers: [['Content-Type', 'application/xml;charset=utf-8'], codeHeader],
        body: errorODataXml(code, message, context),
      };
    case 'front-door-xml':
      return xmlError(error, tableCode(code), errorFrontDoorXml(code, message, context));
    case 'storage-xml':
      return renderStorageXmlError(error, context);
    default:
      return unreachable(shape);
  }
}

function jsonHeaders({ noCache }: StorageError, level: MetadataLevel): RenderedError['headers'] {
  const common = [
    ['Content-Type', contentType(level)],
    ['X-Content-Type-Options', 'nosniff'],
  ] as const;
  return noCache ? [['Cache-Control', 'no-cache'], ...common] : common;
}
