import { StorageError, type ErrorDetail } from './storage-error.js';

// Errors about one part of a request that name the part and its value in extra elements of the
// body (queue-service §3.3).

/** A number outside its range, both ends of which are allowed. */
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

/** `limitBytes`: what would have been accepted. */
export function requestBodyTooLarge(limitBytes: number): StorageError {
  return new StorageError('RequestBodyTooLarge', { details: [['MaxLimit', String(limitBytes)]] });
}

/** Where in a document something is wrong, both counted from 1. */
export interface XmlPlace {
  readonly line: number;
  readonly column: number;
}

/** A body that is no XML, or no document that the operation can mean. */
export function invalidXmlDocument(reason: string, place?: XmlPlace): StorageError {
  const where: readonly ErrorDetail[] =
    place === undefined
      ? []
      : [
          ['LineNumber', String(place.line)],
          ['LinePosition', String(place.column)],
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
