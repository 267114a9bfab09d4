import { invalidQueryParameter } from '../../model/errors/query-errors.js';

/**
 * The further states and parts that List Blobs can show, each with its first version (blob-service
 * §8).
 */
const blobIncludes = {
  snapshots: '2009-09-19',
  metadata: '2009-09-19',
  uncommittedblobs: '2009-09-19',
  copy: '2012-02-12',
  deleted: '2017-07-29',
  tags: '2019-12-12',
  versions: '2019-12-12',
  deletedwithversions: '2020-10-02',
  immutabilitypolicy: '2020-06-12',
  legalhold: '2020-06-12',
  permissions: '2020-06-12',
} as const;

/** What List Containers can include, with the first version that has it (blob-service §6.1). */
const containerIncludes = {
  metadata: '2009-09-19',
  deleted: '2020-02-10',
  system: '2009-09-19',
} as const;

/** What Find Blobs by Tags can include, with its first version (blob-service §6.6). */
const findIncludes = { none: '2019-12-12', versions: '2019-12-12' } as const;

export type BlobInclude = keyof typeof blobIncludes;
export type ContainerInclude = keyof typeof containerIncludes;
export type FindInclude = keyof typeof findIncludes;

/**
 * The `include` of List Blobs: a comma-separated list in any case, perhaps empty.
 *
 * @throws {StorageError} `InvalidQueryParameterValue` for a member that the version does not have,
 * and for snapshots in a list with a delimiter
 */
export function parseBlobInclude(
  text: string | undefined,
  version: string,
  delimiter: string | undefined,
): ReadonlySet<BlobInclude> {
  const includes = parseInclude(text, version, blobIncludes);
  if (includes.has('snapshots') && delimiter !== undefined) {
    throw invalidQueryParameter('include', text ?? '', 'A list with a delimiter has no snapshots.');
  }
  return includes;
}

/** The `include` of List Containers. @throws {StorageError} `InvalidQueryParameterValue` */
export function parseContainerInclude(
  text: string | undefined,
  version: string,
): ReadonlySet<ContainerInclude> {
  return parseInclude(text, version, containerIncludes);
}

/** The `include` of Find Blobs by Tags. @throws {StorageError} `InvalidQueryParameterValue` */
export function parseFindInclude(
  text: string | undefined,
  version: string,
): ReadonlySet<FindInclude> {
  return parseInclude(text, version, findIncludes);
}

function parseInclude<Name extends string>(
  text: string | undefined,
  version: string,
  known: Readonly<Record<Name, string>>,
): ReadonlySet<Name> {
  const found = new Set<Name>();
  const names = Object.keys(known) as Name[];
  for (const member of (text ?? '').split(',')) {
    const lower = member.trim().toLowerCase();
    if (lower === '') continue;
    const name = names.find((candidate) => candidate === lower);
    if (name === undefined || version < known[name]) {
      const reason = `Its members must be among ${names.join(', ')}.`;
      throw invalidQueryParameter('include', text ?? '', reason);
    }
    found.add(name);
  }
  return found;
}
