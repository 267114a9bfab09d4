import { StorageError, type ErrorDetail } from './storage-error.js';

// Errors about one part of a request; extra elements of the body name the part and its value
// (queue-service §3.3).

/** A number outside of an inclusive range. */
export function outOfRangeQueryParameter(
  name: string,
  value: string,
  min: number,
  max: number,
): StorageError {
  return new StorageError('OutOfRangeQueryParameterValue', {
    details: [
      ['QueryParameterName', name],
      ['QueryParameterValue', value],
      ['MinimumAllowed', String(min)],
      ['MaximumAllowed', String(max)],
    ],
  });
}

export function invalidQueryParameter(name: string, value: string, reason: string): StorageError {
  return new StorageError('InvalidQueryParameterValue', {
    details: [
      ['QueryParameterName', name],
      ['QueryParameterValue', value],
      ['Reason', reason],
    ],
  });
}

export function missingQueryParameter(name: string): StorageError {
  return new StorageError('MissingRequiredQueryParameter', {
    details: [['QueryParameterName', name]],
  });
}

export function invalidHeader(name: string, value: string): StorageError {
  return new StorageError('InvalidHeaderValue', {
    details: [
      ['HeaderName', name],
      ['HeaderValue', value],
    ],
  });
}

export function missingHeader(name: string): StorageError {
  return new StorageError('MissingRequiredHeader', { details: [['HeaderName', name]] });
}

/** `limitBytes`: the largest accepted size. */
export function requestBodyTooLarge(limitBytes: number): StorageError {
  return new StorageError('RequestBodyTooLarge', { details: [['MaxLimit', String(limitBytes)]] });
}

/** A position in a document; both numbers count from 1. */
export interface XmlPosition {
  readonly line: number;
  readonly column: number;
}

/** A body that is not XML, or not a document that the operation accepts. */
export function invalidXmlDocument(reason: string, position?: XmlPosition): StorageError {
  const where: readonly ErrorDetail[] =
    position === undefined
      ? []
      : [
          ['LineNumber', String(position.line)],
          ['LinePosition', String(position.column)],
        ];
  return new StorageError('InvalidXmlDocument', { details: [...where, ['Reason', reason]] });
}

export function invalidXmlNode(name: string, value: string, reason: string): StorageError {
  return new StorageError('InvalidXmlNodeValue', {
    details: [
      ['XmlNodeName', name],
      ['XmlNodeValue', value],
      ['Reason', reason],
    ],
  });
}

export function missingXmlNode(name: string): StorageError {
  return new StorageError('MissingRequiredXmlNode', { details: [['XmlNodeName', name]] });
}

export function unsupportedXmlNode(name: string): StorageError {
  return new StorageError('UnsupportedXmlNode', { details: [['XmlNodeName', name]] });
}
