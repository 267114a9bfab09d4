/** The parts of a request target, as sent, undecoded. */
export interface SplitTarget {
  /** Begins with `/`. */
  readonly path: string;
  /** Without its question mark; empty when there is none. */
  readonly query: string;
}

/**
 * Splits the target of an inner request: an absolute URL, whose scheme and host are ignored, or a
 * path (table-service §9.2).
 */
export function splitTarget(target: string): SplitTarget {
  const start = pathStart(target);
  const mark = target.indexOf('?', start);
  const path = mark < 0 ? target.slice(start) : target.slice(start, mark);
  return {
    path: path.startsWith('/') ? path : `/${path}`,
    query: mark < 0 ? '' : target.slice(mark + 1),
  };
}

/** The start of the path. A colon after the first slash belongs to a key and not to a scheme. */
function pathStart(target: string): number {
  if (target.startsWith('/')) return 0;
  const scheme = target.indexOf('://');
  if (scheme < 0 || /[^A-Za-z0-9+.-]/.test(target.slice(0, scheme))) return 0;
  const end = target.slice(scheme + 3).search(/[/?]/);
  return end < 0 ? target.length : scheme + 3 + end;
}
