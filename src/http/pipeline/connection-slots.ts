/** A port of a process, which can close idle connections to free slots. */
export interface FreeingPort {
  /** Closes the oldest idle connection of an address. Returns false when it has none. */
  freeOf(address: string): boolean;
}

/**
 * The address with most connections, if these are at least two more than another one has, so that
 * addresses do not take turns.
 */
export function greediest(
  counts: Iterable<readonly [address: string, connections: number]>,
  own: number,
): string | undefined {
  let [found, most]: [string | undefined, number] = [undefined, own + 1];
  for (const [address, count] of counts) if (count > most) [found, most] = [address, count];
  return found;
}

/**
 * The connections that the ports of a process have together. A process has a limited number of open
 * files: connections must leave some for its data, or strangers could keep it from writing.
 */
export class ConnectionSlots {
  readonly #slotsMax: number;
  readonly #ports: FreeingPort[] = [];
  readonly #byAddress = new Map<string, number>();
  #count = 0;

  constructor(slotsMax = Infinity) {
    this.#slotsMax = slotsMax;
  }

  addPort(port: FreeingPort): void {
    this.#ports.push(port);
  }

  /** Takes a slot for a connection of an address. Returns false when there is none. */
  take(address: string): boolean {
    if (this.#count >= this.#slotsMax && !this.#freeSlot(address)) return false;
    this.#count += 1;
    this.#byAddress.set(address, (this.#byAddress.get(address) ?? 0) + 1);
    return true;
  }

  giveBack(address: string): void {
    const left = (this.#byAddress.get(address) ?? 0) - 1;
    this.#count -= 1;
    if (left > 0) this.#byAddress.set(address, left);
    else this.#byAddress.delete(address);
  }

  #freeSlot(address: string): boolean {
    const holder = greediest(this.#byAddress, this.#byAddress.get(address) ?? 0);
    return holder !== undefined && this.#ports.some((port) => port.freeOf(holder));
  }
}

/** Files that a process has open besides those of requests: its data, journal and log. */
const ownFiles = 64;

/**
 * The connections for which a process may have enough open files: each with one file beside it, as
 * the content of a blob that is read or written.
 */
export function slotsWithin(openFilesMax: number): number {
  return Math.max(1, Math.floor((openFilesMax - ownFiles) / 2));
}
