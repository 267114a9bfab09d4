/**
 * Whether a request speaks an older version of the protocol than `since`. A request that names no
 * version speaks the newest.
 */
export function isBefore(version: string, since: string): boolean {
  return version !== '' && version < since;
}

/** Brought CORS, minute metrics and today's names in lists (spec queue-service §2). */
export const corsVersion = '2013-08-15';
