import { StorageError } from '../../model/errors/storage-error.js';

const tunnelled: ReadonlySet<string> = new Set(['GET', 'PUT', 'MERGE', 'PATCH', 'DELETE']);

/**
 * The method that a request means: POST can carry another one in `X-HTTP-Method`, for networks that
 * let only the common methods through (table-service §3.2, §3.4).
 */
export function effectiveMethod(method: string, override: string | undefined): string {
  if (override === undefined) return method;
  if (override.includes(',')) throw new StorageError('XMethodIncorrectCount');
  if (method !== 'POST') throw new StorageError('XMethodNotUsingPost');
  const wanted = override.trim().toUpperCase();
  if (!tunnelled.has(wanted)) throw new StorageError('XMethodIncorrectValue');
  return wanted;
}
