import { StorageError } from '../../model/errors/storage-error.js';
import type { QueryOptions } from '../../wire/http/query-string.js';
import type { EnumeratedPage } from '../../wire/xml/enumeration.js';
import { enumeratedPage, listInputOf, pageSizeOf, type ListInput } from './list-page.js';

/** The parameters of a list of queues or containers. */
export interface ContainerListInput extends ListInput {
  /** The name that the marker encodes. */
  readonly from: string | undefined;
}

/** The parameters of a list (queue-service §6.1, blob-service §6.1). Throws `InvalidMarker`. */
export function containerListOf(query: QueryOptions, account: string): ContainerListInput {
  const input = listInputOf(query);
  return { ...input, from: parseMarker(input.marker, account) };
}

/** The parameters of a list as services take them. */
export function pageQuery(input: ContainerListInput): {
  readonly prefix?: string;
  readonly from?: string;
  readonly limit: number;
} {
  const { prefix, from } = input;
  return {
    ...(prefix === undefined ? {} : { prefix }),
    ...(from === undefined ? {} : { from }),
    limit: pageSizeOf(input),
  };
}

/** The parameters of a list as documents repeat them. `next`: the first name of the next page. */
export function containerPage(
  input: ContainerListInput,
  account: string,
  next: string | undefined,
): EnumeratedPage {
  return enumeratedPage(input, next === undefined ? undefined : markerOf(account, next));
}

/** The marker of a page in the format of the cloud: the position of the next name. */
export function markerOf(account: string, name: string): string {
  return `/${account}/${name}`;
}

/**
 * The names of containers of blobs may begin with a dollar sign. Behind that of a deleted one is
 * its version.
 */
const markedName = /^\$?[a-z0-9-]{1,63}(?:\/[0-9A-F]{16})?$/;

/** The name in a marker. Throws `InvalidMarker` for anything that `markerOf` does not make. */
export function parseMarker(marker: string | undefined, account: string): string | undefined {
  if (marker === undefined || marker === '') return undefined;
  const start = markerOf(account, '');
  const name = marker.slice(start.length);
  if (!marker.startsWith(start) || !markedName.test(name)) throw new StorageError('InvalidMarker');
  return name;
}
