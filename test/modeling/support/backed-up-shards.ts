import { manualClock, type ManualClock } from '../../../src/base/clock.js';
import type {
  BackupStore,
  ShardMapManager,
} from '../../../src/modeling/patterns/shard-map-manager/index.js';
import { filledShards, type MemoryShards } from './memory-shards.js';

export const hourMs = 3_600_000;
export const intervals = { ledger: hourMs, logs: 24 * hourMs };

/** Files in memory; a file that is being written is not there. */
export class MemoryStore implements BackupStore {
  readonly files = new Map<string, readonly string[]>();

  async write(name: string, lines: AsyncIterable<string>): Promise<void> {
    await this.put(name, await linesIn(lines));
  }

  put(name: string, lines: readonly string[]): Promise<void> {
    this.files.set(name, lines);
    return Promise.resolve();
  }

  async *read(name: string): AsyncGenerator<string, void, undefined> {
    const lines = this.files.get(name);
    if (lines === undefined) throw new Error(`no file ${name}`);
    yield* lines;
  }

  list(prefix: string): Promise<readonly string[]> {
    return Promise.resolve([...this.files.keys()].filter((name) => name.startsWith(prefix)).sort());
  }

  delete(name: string): Promise<void> {
    this.files.delete(name);
    return Promise.resolve();
  }
}

export async function linesIn(lines: AsyncIterable<string>): Promise<readonly string[]> {
  const found: string[] = [];
  for await (const line of lines) found.push(line.trimEnd());
  return found;
}

export interface BackedUpShards {
  readonly shards: MemoryShards;
  readonly store: MemoryStore;
  readonly clock: ManualClock;
  readonly manager: (wrap?: <T extends object>(port: T) => T) => ShardMapManager;
}

/** North holds a ledger and logs, south logs, and of west nobody has said what it holds. */
export async function backedUpShards(): Promise<BackedUpShards> {
  const { shards } = await filledShards();
  const clock = manualClock(Date.parse('2024-05-31T00:00:00Z') * 1000);
  const manager: BackedUpShards['manager'] = (wrap) => shards.manager(wrap, { clock });
  await manager().setShard('north', { holds: ['logs', 'ledger'] });
  await manager().setShard('south', { holds: ['logs'] });
  return { shards, store: new MemoryStore(), clock, manager };
}
