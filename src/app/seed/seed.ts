import type { QueueService } from '../../services/queues/queue-service.js';
import type { TableService } from '../../services/tables/table-service.js';
import { SeedError, type SeedAccount, type SeedData, type SeedPath } from './seed-data.js';
import { checkSeedQueue, seedQueue } from './seed-queues.js';
import { checkSeedTable, seedTable } from './seed-tables.js';

export interface SeedTarget {
  readonly tables: TableService;
  readonly queues: QueueService;
  /** Names of the accounts that the server has. */
  readonly accounts: readonly string[];
}

interface AccountPart {
  readonly account: string;
  readonly content: SeedAccount;
  readonly path: SeedPath;
}

/** What a seed had, whether it was made or was there. */
export interface SeedCounts {
  readonly tables: number;
  readonly queues: number;
  readonly entities: number;
  /** Messages that were put. */
  readonly messages: number;
}

/**
 * Makes what a seed says. It can be stopped anywhere and done again: what is there is left or
 * overwritten, as the seed says.
 *
 * @throws {SeedError} for a seed that cannot be made. Only what a stream gives, or a limit on what
 *   is stored, is found out after something has been made.
 */
export async function seed(target: SeedTarget, data: SeedData): Promise<SeedCounts> {
  const { ifExists = 'skip' } = data;
  if (!['skip', 'replace'].includes(ifExists)) {
    throw new SeedError(['ifExists'], `it may be skip or replace, not '${ifExists}'`);
  }
  const parts = partsOf(data, target.accounts);
  for (const part of parts) check(part);
  const counts = { tables: 0, queues: 0, entities: 0, messages: 0 };
  const done = (what: 'entities' | 'messages') => (count: number) => {
    counts[what] += count;
    data.progress?.({ entities: counts.entities, messages: counts.messages });
  };
  for (const { account, content, path } of parts) {
    const common = { ...target, account, ifExists };
    for (const [table, entities] of Object.entries(content.tables ?? {})) {
      const place = [...path, 'tables', table];
      await seedTable({ ...common, table, path: place, done: done('entities') }, entities ?? {});
      counts.tables += 1;
    }
    for (const [queue, messages] of Object.entries(content.queues ?? {})) {
      const place = [...path, 'queues', queue];
      await seedQueue({ ...common, queue, path: place, done: done('messages') }, messages ?? {});
      counts.queues += 1;
    }
  }
  return counts;
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

function check({ content, path }: AccountPart): void {
  if ('containers' in content) {
    throw new SeedError(
      [...path, 'containers'],
      'blobs are not served here; take containers away, and make them where blobs are served',
    );
  }
  for (const [name, table] of Object.entries(content.tables ?? {})) {
    checkSeedTable(name, table ?? {}, [...path, 'tables', name]);
  }
  for (const [name, queue] of Object.entries(content.queues ?? {})) {
    checkSeedQueue(name, queue ?? {}, [...path, 'queues', name]);
  }
}
