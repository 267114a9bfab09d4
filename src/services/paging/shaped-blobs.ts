import { unreachable } from '../../base/invariant.js';
import type {
  BlobList,
  BlobQuery,
  ContainerList,
  ContainerProperties,
  ContainerQuery,
  ListedBlob,
  ListedPrefix,
  ListPosition,
} from '../blobs/types.js';
import { afterContainer, startOfContainer } from '../blobs/container-list.js';
import type { PageShape } from './paging-policy.js';
import { plainPositions } from './plain-names.js';
import { shapedNames, type NameList } from './shaped-names.js';

/** The lowest character of a name of a blob. */
const lowestCharacter = '\0';

/** A page of a list of containers in a given shape. `read` lists without a shape. */
export async function shapedContainers(
  read: (query: ContainerQuery) => Promise<ContainerList>,
  query: ContainerQuery,
  shape: PageShape,
): Promise<ContainerList> {
  const { items, ...rest } = await shapedNames(
    {
      read: async (limit) => {
        const { containers, ...next } = await read({ ...query, limit });
        return { items: [...containers], ...next };
      },
      ...(query.includesDeleted === true
        ? positionsWithDeleted(query.from)
        : plainPositions(query.from)),
      limit: query.limit,
    },
    shape,
  );
  return { containers: items, ...rest };
}

/** The positions in a list with deleted containers, of which several have one name. */
function positionsWithDeleted(
  from: string | undefined,
): Pick<NameList<ContainerProperties>, 'startOf' | 'after'> {
  return {
    startOf: (container) => {
      const start = startOfContainer(container);
      return start === from ? undefined : start;
    },
    after: afterContainer,
  };
}

/** A page of a list of blobs in a given shape. `read` lists without a shape. */
export async function shapedBlobs(
  read: (query: BlobQuery) => Promise<BlobList>,
  query: BlobQuery,
  shape: PageShape,
): Promise<BlobList> {
  return shapedNames<ListedBlob | ListedPrefix, ListPosition>(
    {
      read: async (limit) => {
        const { items, ...next } = await read({ ...query, limit });
        return { items: [...items], ...next };
      },
      // A page that continues within a blob must not begin again with its first snapshot.
      startOf: ({ name }) => (name === query.from?.name ? undefined : { name }),
      after,
      limit: query.limit,
    },
    shape,
  );
}

/** A position after a common beginning would list it again. */
function after(item: ListedBlob | ListedPrefix): ListPosition | undefined {
  switch (item.kind) {
    case 'prefix':
      return undefined;
    case 'blob':
      return afterBlob(item);
    default:
      return unreachable(item);
  }
}

/** The position after a blob: its snapshots and versions come before it. */
function afterBlob({ name, snapshotMicros, version, hasVersionsOnly }: ListedBlob): ListPosition {
  const isPast = version?.isCurrent === false && hasVersionsOnly !== true;
  const micros = isPast ? version.micros : snapshotMicros;
  return micros === undefined
    ? { name: `${name}${lowestCharacter}` }
    : { name, fromMicros: micros + 1 };
}
