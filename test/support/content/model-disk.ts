import type {
  ContentFiles,
  NewFile,
  StoredFile,
} from '../../../src/content/files/content-files.js';
import type { Liveness } from '../../../src/content/files/sessions.js';
import type { SimRandom } from '../sim-random.js';
import { systemError } from './temporary-content.js';

interface Inode {
  readonly kind: 'file' | 'folder';
  content: Buffer;
  /** So many bytes at the beginning survive a loss of power. */
  durableBytes: number;
  /** By name. Empty for a file. */
  readonly names: Map<string, Inode>;
  /** What of the names certainly survives. */
  durableNames: Map<string, Inode>;
  /** When the sync of these began. */
  lastSync: number;
  /** Of names that were given up for others in one step, the new ones. */
  readonly renamed: Map<string, string>;
}

let syncsBegun = 0;

function inode(kind: Inode['kind']): Inode {
  const content = Buffer.alloc(0);
  return {
    kind,
    content,
    durableBytes: 0,
    names: new Map(),
    durableNames: new Map(),
    lastSync: 0,
    renamed: new Map(),
  };
}

/** Faults while a process lives. */
export interface DiskFaults {
  /** The probability that an operation which changes something fails. */
  readonly fails: number;
}

/**
 * A disk that decides what remains after a loss of power: of a file any part of what was not
 * synced, of a folder any of the names that were made or removed since its last sync.
 */
export class ModelDisk {
  #root = inode('folder');
  readonly #alive = new Set<string>();

  /** A process that uses the disk. After `die` none of its operations ends. */
  process(random: SimRandom, faults: DiskFaults): ModelProcess {
    return new ModelProcess(this.#root, this.#alive, random, faults);
  }

  losePower(random: SimRandom): void {
    this.#root = settled(this.#root, random);
    this.#alive.clear();
  }

  /** Files of extents, without those with the owners of links. */
  count(): number {
    const extents = this.#root.names.get('extents');
    return extents === undefined ? 0 : countIn(extents);
  }
}

function countIn(folder: Inode): number {
  let files = 0;
  for (const [name, each] of folder.names) {
    if (each.kind === 'folder') files += countIn(each);
    else if (!name.endsWith('.owner')) files += 1;
  }
  return files;
}

/** Files are the same behind several names, before and after. */
function settled(root: Inode, random: SimRandom): Inode {
  const seen = new Map<Inode, Inode>();
  const settle = (old: Inode): Inode => {
    const known = seen.get(old);
    if (known !== undefined) return known;
    const next = inode(old.kind);
    seen.set(old, next);
    if (old.kind === 'file') {
      next.content = survivingContent(old, random);
      next.durableBytes = next.content.length;
      return next;
    }
    const isDone = new Map<string, boolean>();
    for (const name of new Set([...old.names.keys(), ...old.durableNames.keys()])) {
      const [now, before] = [old.names.get(name), old.durableNames.get(name)];
      const step = old.renamed.get(name) ?? name;
      if (!isDone.has(step)) isDone.set(step, random.chance(0.5));
      const left = now === before || isDone.get(step) === true ? now : before;
      if (left !== undefined) next.names.set(name, settle(left));
    }
    next.durableNames = new Map(next.names);
    return next;
  };
  return settle(root);
}

function survivingContent({ content, durableBytes }: Inode, random: SimRandom): Buffer {
  const length = random.between(durableBytes, content.length);
  const left = Buffer.from(content.subarray(0, length));
  // The length may survive without the bytes.
  if (random.chance(0.3)) left.fill(0, random.between(durableBytes, length));
  return left;
}

export class ModelProcess implements ContentFiles {
  readonly #root: Inode;
  readonly #alive: Set<string>;
  readonly #random: SimRandom;
  readonly #faults: DiskFaults;
  readonly #sockets = new Set<string>();
  /** Operations until it dies. */
  #left = Infinity;
  #whenDead: (() => void) | undefined;

  constructor(root: Inode, alive: Set<string>, random: SimRandom, faults: DiskFaults) {
    this.#root = root;
    this.#alive = alive;
    this.#random = random;
    this.#faults = faults;
  }

  /** Resolves when the process has died, in the middle of its work. */
  dieAfter(operations: number): Promise<void> {
    this.#left = operations;
    return new Promise((resolve) => (this.#whenDead = resolve));
  }

  get liveness(): Liveness {
    return {
      kind: 'socket',
      listen: (token) => {
        this.#alive.add(token);
        this.#sockets.add(token);
        const close = (): Promise<boolean> => {
          this.#alive.delete(token);
          return Promise.resolve(true);
        };
        return Promise.resolve({ name: token, close });
      },
      isListening: (name) => Promise.resolve(this.#alive.has(name)),
      remove: () => Promise.resolve(),
    };
  }

  async create(path: string): Promise<NewFile> {
    await this.#step('change');
    const { folder, name } = this.#parent(path);
    if (folder.names.has(name)) throw systemError('EEXIST');
    const file = inode('file');
    folder.names.set(name, file);
    return {
      append: async (parts) => {
        const bytes = Buffer.concat(parts);
        try {
          await this.#step('change');
        } catch (error) {
          const part = bytes.subarray(0, this.#random.int(bytes.length + 1));
          file.content = Buffer.concat([file.content, part]);
          throw error;
        }
        file.content = Buffer.concat([file.content, bytes]);
      },
      sync: async () => {
        const { length } = file.content;
        await this.#step('change');
        file.durableBytes = Math.max(file.durableBytes, length);
      },
      close: () => this.#step('look'),
    };
  }

  async open(path: string): Promise<StoredFile> {
    await this.#step('look');
    const file = this.#find(path);
    if (file?.kind !== 'file') throw systemError('ENOENT');
    return {
      bytes: file.content.length,
      read: async (position, bytes, memory = Buffer.alloc(bytes)) => {
        await this.#step('look');
        const read = file.content.copy(memory, 0, position, position + bytes);
        return memory.subarray(0, read);
      },
      close: () => this.#step('look'),
    };
  }

  async link(from: string, to: string): Promise<void> {
    await this.#step('change');
    const file = this.#find(from);
    if (file === undefined) throw systemError('ENOENT');
    const { folder, name } = this.#parent(to);
    if (folder.names.has(name)) throw systemError('EEXIST');
    folder.names.set(name, file);
  }

  async rename(from: string, to: string): Promise<void> {
    await this.#step('change');
    const file = this.#find(from);
    if (file === undefined) throw systemError('ENOENT');
    const [before, after] = [this.#parent(from), this.#parent(to)];
    before.folder.names.delete(before.name);
    after.folder.names.set(after.name, file);
    after.folder.renamed.set(before.name, after.name);
  }

  async remove(path: string): Promise<boolean> {
    await this.#step('change');
    if (this.#find(path) === undefined) return false;
    const { folder, name } = this.#parent(path);
    return folder.names.delete(name);
  }

  async makeFolder(path: string): Promise<boolean> {
    await this.#step('change');
    const { folder, name } = this.#parent(path);
    if (folder.names.has(name)) return false;
    folder.names.set(name, inode('folder'));
    return true;
  }

  async removeFolder(path: string): Promise<boolean> {
    await this.#step('change');
    const found = this.#find(path);
    if (found === undefined || found.names.size > 0) return false;
    const { folder, name } = this.#parent(path);
    return folder.names.delete(name);
  }

  async list(path: string): Promise<readonly string[]> {
    await this.#step('look');
    return Array.from(this.#find(path)?.names.keys() ?? []).toSorted();
  }

  async syncFolder(path: string): Promise<void> {
    const folder = this.#find(path);
    if (folder === undefined) throw systemError('ENOENT');
    const names = new Map(folder.names);
    syncsBegun += 1;
    const begun = syncsBegun;
    await this.#step('change');
    // One that began earlier, and ends later, takes nothing back.
    if (begun < folder.lastSync) return;
    folder.lastSync = begun;
    folder.durableNames = names;
  }

  isThere(path: string): boolean {
    return this.#find(path) !== undefined;
  }

  checkWritable(): Promise<void> {
    return Promise.resolve();
  }

  room(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  /** Others have their turn; then the operation happens, or fails, or the process is dead. */
  async #step(kind: 'look' | 'change'): Promise<void> {
    for (let turns = this.#random.int(3); turns > 0; turns -= 1) {
      await new Promise((resolve) => setImmediate(resolve));
    }
    if (this.#left <= 0) return this.#die();
    this.#left -= 1;
    if (kind === 'change' && this.#random.chance(this.#faults.fails)) {
      throw systemError(this.#random.pick(['ENOSPC', 'EIO']));
    }
  }

  #die(): Promise<never> {
    for (const socket of this.#sockets) this.#alive.delete(socket);
    this.#whenDead?.();
    return new Promise(() => undefined);
  }

  #find(path: string): Inode | undefined {
    let at: Inode | undefined = this.#root;
    for (const name of path.split('/').filter((each) => each !== '')) at = at?.names.get(name);
    return at;
  }

  #parent(path: string): { readonly folder: Inode; readonly name: string } {
    const cut = path.lastIndexOf('/');
    const folder = this.#find(path.slice(0, Math.max(0, cut)));
    if (folder === undefined) throw systemError('ENOENT');
    return { folder, name: path.slice(cut + 1) };
  }
}
