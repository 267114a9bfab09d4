import { StorageError } from './storage-error.js';

// Errors about one part of a request that name the part and its value in extra elements of the
// body (spec queue-service §3.3).

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
