import { shownAddress } from '../engines/postgres/hosts.js';
import type { ServerOptions } from './options/table.js';

/** Where the data are, for people. */
export function shownStorage({ location, postgresUrl }: ServerOptions): string {
  if (location === undefined) return 'in memory, gone at the end';
  if (postgresUrl === undefined) return location;
  return `${shownAddress(postgresUrl)}, large blobs in ${location}`;
}
