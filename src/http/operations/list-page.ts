import { listMax } from '../../services/containers/list-max.js';
import type { QueryOptions } from '../../wire/http/query-string.js';
import type { EnumeratedPage } from '../../wire/xml/enumeration.js';
import { rangedInteger } from './integer-parameter.js';

/** The parameters of every list, as sent. */
export interface ListInput {
  readonly prefix: string | undefined;
  readonly marker: string | undefined;
  readonly maxResults: number | undefined;
}

/** A page size above the maximum means a full page. */
const pageSizes = { min: 1, max: 2_147_483_647 };

/**
 * The parameters of a list (queue-service §6.1, blob-service §6.1, §8). Throws
 * `InvalidQueryParameterValue`, `OutOfRangeQueryParameterValue`.
 */
export function listInputOf(query: QueryOptions): ListInput {
  return {
    prefix: query.get('prefix'),
    marker: query.get('marker'),
    maxResults: rangedInteger(query, 'maxresults', pageSizes),
  };
}

/** The items of a page, at most. */
export function pageSizeOf({ maxResults = listMax }: ListInput): number {
  return Math.min(maxResults, listMax);
}

/** The parameters as documents repeat them. `nextMarker`: that of the next page. */
export function enumeratedPage(
  { prefix, marker, maxResults }: ListInput,
  nextMarker: string | undefined,
): EnumeratedPage {
  return {
    ...(prefix === undefined ? {} : { prefix }),
    ...(marker === undefined ? {} : { marker }),
    ...(maxResults === undefined ? {} : { maxResults }),
    ...(nextMarker === undefined ? {} : { nextMarker }),
  };
}
