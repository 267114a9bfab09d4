/** Longest boundary that RFC 2046 allows. */
const boundaryLengthMax = 70;

/** The longest Content-Type that is parsed. */
const contentTypeLengthMax = 1024;

const parameter = /\s*;\s*([^\s=;"]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]*))\s*/y;

/** Visible ASCII with inner spaces; wider than RFC 2046, because clients are. */
const boundaryForm = /^[\x20-\x7e]*[\x21-\x7e]$/;

/**
 * The boundary of a `multipart/mixed` Content-Type: quoted or not, other parameters before or
 * after, names in any case. Undefined for every other media type and for an invalid boundary.
 */
export function multipartBoundary(contentType: string): string | undefined {
  if (contentType.length > contentTypeLengthMax) return undefined;
  const end = contentType.indexOf(';');
  if (end < 0 || contentType.slice(0, end).trim().toLowerCase() !== 'multipart/mixed') {
    return undefined;
  }
  parameter.lastIndex = end;
  for (let found = parameter.exec(contentType); found; found = parameter.exec(contentType)) {
    const [, name, quoted, plain] = found;
    if (name?.toLowerCase() === 'boundary') {
      return usableBoundary(quoted?.replace(/\\(.)/g, '$1') ?? plain ?? '');
    }
  }
  return undefined;
}

function usableBoundary(boundary: string): string | undefined {
  const usable = boundary.length <= boundaryLengthMax && boundaryForm.test(boundary);
  return usable ? boundary : undefined;
}
