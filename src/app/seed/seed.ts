import type { BlobService } from '../../services/blobs/blob-service.js';
import type { QueueService } from '../../services/queues/queue-service.js';
import type { TableService } from '../../services/tables/table-service.js';
import {
  SeedError,
  type SeedAccount,
  type SeedData,
  type SeedPath,
  type SeedProgress,
  seededNothing,
} from './seed-data.js';
import { noteContainerMistakes, noteRefusedAccess, seedContainer } from './seed-containers.js';
import { SeedMistakes } from './seed-mistakes.js';
import { noteQueueMistakes, seedQueue } from './seed-queues.js';
import { noteTableMistakes, seedTable } from './seed-tables.js';

export interface SeedTarget {
  readonly tables: TableService;
  readonly queues: QueueService;
  readonly blobs: BlobService;
  /** Names of the accounts that the server has. */
  readonly accounts: readonly string[];
}

interface AccountPart {
  readonly account: string;
  readonly content: SeedAccount;
  readonly path: SeedPath;
}

/** The counts of the seed's data, created or skipped. */
export interface SeedCounts extends SeedProgress {
  readonly tables: number;
  readonly queues: number;
  readonly containers: number;
}

/**
 * Creates the data of a seed with a valid shape (`checkSeedShape`). It can be interrupted anywhere
 * and repeated: existing data are skipped or overwritten, as the seed says.
 *
 * @throws {SeedError} for a seed that cannot be created. Only mistakes in a stream, and limits on
 * stored data, are found after something has been created.
 */
export async function seed(target: SeedTarget, data: SeedData): Promise<SeedCounts> {
  const { ifExists = 'skip' } = data;
  const parts = partsOf(data, target.accounts);
  const mistakes = new SeedMistakes();
  for (const part of parts) {
    check(part, mistakes);
    const { account, content, path } = part;
    const blobsTarget = { blobs: target.blobs, account, ifExists };
    await noteRefusedAccess(blobsTarget, content.containers ?? {}, path, mistakes);
  }
  mistakes.throwAll();
  let progress = seededNothing;
  const counts = { tables: 0, queues: 0, containers: 0 };
  const done = (more: Partial<SeedProgress>): void => {
    progress = sumOf(progress, more);
    data.progress?.(progress);
  };
  for (const { account, content, path } of parts) {
    const common = { ...target, account, ifExists };
    for (const [table, entities] of Object.entries(content.tables ?? {})) {
      const place = [...path, 'tables', table];
      await seedTable({ ...common, table, path: place, done }, entities ?? {});
      counts.tables += 1;
    }
    for (const [queue, messages] of Object.entries(content.queues ?? {})) {
      const place = [...path, 'queues', queue];
      await seedQueue({ ...common, queue, path: place, done }, messages ?? {});
      counts.queues += 1;
    }
    for (const [container, blobs] of Object.entries(content.containers ?? {})) {
      const place = [...path, 'containers', container];
      await seedContainer({ ...common, container, path: place, done }, blobs ?? {});
      counts.containers += 1;
    }
  }
  return { ...counts, ...progress };
}

function sumOf(progress: SeedProgress, more: Partial<SeedProgress>): SeedProgress {
  const { entities = 0, messages = 0, blobs = 0 } = more;
  const { keptEntities = 0, keptQueues = 0, keptBlobs = 0 } = more;
  return {
    entities: progress.entities + entities,
    messages: progress.messages + messages,
    blobs: progress.blobs + blobs,
    keptEntities: progress.keptEntities + keptEntities,
    keptQueues: progress.keptQueues + keptQueues,
    keptBlobs: progress.keptBlobs + keptBlobs,
  };
}

function partsOf(data: SeedData, names: readonly string[]): readonly AccountPart[] {
  const others = Object.entries(data.accounts ?? {}).map(([account, content]) => ({
    account,
    content,
    path: ['accounts', account],
  }));
  const unknown = others.find(({ account }) => !names.includes(account));
  if (unknown !== undefined) {
    const known = names.join(', ');
    throw new SeedError(unknown.path, `the server has no such account; it has: ${known}`);
  }
  const [first] = names;
  return first === undefined ? others : [{ account: first, content: data, path: [] }, ...others];
}

function check({ content, path }: AccountPart, mistakes: SeedMistakes): void {
  for (const [name, table] of Object.entries(content.tables ?? {})) {
    noteTableMistakes(name, table ?? {}, [...path, 'tables', name], mistakes);
  }
  for (const [name, queue] of Object.entries(content.queues ?? {})) {
    noteQueueMistakes(name, queue ?? {}, [...path, 'queues', name], mistakes);
  }
  for (const [name, container] of Object.entries(content.containers ?? {})) {
    noteContainerMistakes(name, container ?? {}, [...path, 'containers', name], mistakes);
  }
}
