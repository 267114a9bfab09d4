import { StorageError } from '../../model/errors/storage-error.js';
import { negotiate, type MetadataLevel } from '../../wire/odata/media-type.js';
import type { Exchange } from '../exchange/exchange.js';
import type { RequestRules } from '../operations/request-rules.js';
import type { TableRequest } from './request.js';

/** The metadata level of an answer that has a body; throws the 415s (table-service §4.1). */
export function levelOf(request: TableRequest): MetadataLevel {
  return negotiated(request.header('accept'), request.query.get('$format'), request.backend.rules);
}

/** A lenient server has a level for every request, whatever `Accept` says. */
function negotiated(
  accept: string | undefined,
  format: string | undefined,
  { answersAnyAccept }: RequestRules,
): MetadataLevel {
  try {
    return negotiate(accept, format);
  } catch (error) {
    if (answersAnyAccept && error instanceof StorageError) return 'minimal';
    throw error;
  }
}

/** The level for an error body; undefined when the request names no JSON format. */
export function errorLevelOf(
  accept: string | undefined,
  format: string | undefined,
  rules: RequestRules,
): MetadataLevel | undefined {
  try {
    return negotiated(accept, format, rules);
  } catch (error) {
    if (error instanceof StorageError) return undefined;
    throw error;
  }
}

/** As `errorLevelOf`, also for a request with a malformed query string. */
export function errorLevelOfExchange(
  exchange: Exchange,
  rules: RequestRules,
): MetadataLevel | undefined {
  let format: string | undefined;
  try {
    format = exchange.queryOptions.get('$format');
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
  }
  return errorLevelOf(exchange.header('accept'), format, rules);
}

/** A body must be JSON, whatever the parameters are; without a Content-Type it is assumed to be. */
export function requireJsonBody(request: TableRequest): void {
  const text = request.header('content-type');
  if (text === undefined || text.startsWith('application/json')) return;
  const end = text.indexOf(';');
  const type = (end < 0 ? text : text.slice(0, end)).trim().toLowerCase();
  if (type === '' || type === 'application/json') return;
  const isAtom = type === 'application/atom+xml' || type === 'application/xml';
  throw new StorageError(isAtom ? 'AtomFormatNotSupported' : 'MediaTypeNotSupported');
}

/** Whether the answer to a creation repeats the entity. */
export type Preference = 'return-content' | 'return-no-content';

/** `Prefer`; unknown values are ignored (table-service §3.4). */
export function preferenceOf(text: string | undefined): Preference | undefined {
  if (text === undefined) return undefined;
  const value = text.trim().toLowerCase();
  return value === 'return-content' || value === 'return-no-content' ? value : undefined;
}
