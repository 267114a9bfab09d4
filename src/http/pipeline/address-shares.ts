import type { Socket } from 'node:net';
import { ConnectionSlots, greediest, type FreeingPort } from './connection-slots.js';

/** The decision about a new connection. */
export type Admission = 'admitted' | 'address-full' | 'port-full' | 'process-full';

export interface AddressSharesOptions {
  readonly connectionsMax: number;
  readonly connectionsPerAddressMax: number;
  /** Shared by the ports of a process. Absent: the process has enough. */
  readonly slots?: ConnectionSlots | undefined;
  /** True when no request is in progress on a connection. */
  readonly isIdle: (socket: Socket) => boolean;
}

/**
 * Limits the connections of each client address on a port. When the port or the process is full, an
 * address with fewer connections than the largest holder of a port takes over that holder's oldest
 * idle connection; so no client can lock others out by holding connections open.
 */
export class AddressShares implements FreeingPort {
  readonly #options: AddressSharesOptions;
  readonly #slots: ConnectionSlots;
  readonly #byAddress = new Map<string, Set<Socket>>();
  #count = 0;

  constructor(options: AddressSharesOptions) {
    this.#options = options;
    this.#slots = options.slots ?? new ConnectionSlots();
    this.#slots.addPort(this);
  }

  /** Admits a connection, or says why not. The caller closes a refused one. */
  admit(socket: Socket): Admission {
    const { connectionsMax, connectionsPerAddressMax } = this.#options;
    const address = networkOf(socket.remoteAddress ?? '');
    const own = this.#byAddress.get(address)?.size ?? 0;
    if (own >= connectionsPerAddressMax) return 'address-full';
    if (this.#count >= connectionsMax && !this.#freePlace(own)) return 'port-full';
    if (!this.#slots.take(address)) return 'process-full';
    this.#add(address, socket);
    return 'admitted';
  }

  freeOf(holder: string): boolean {
    for (const socket of this.#byAddress.get(holder) ?? []) {
      if (!this.#options.isIdle(socket)) continue;
      this.#remove(holder, socket);
      socket.destroy();
      return true;
    }
    return false;
  }

  /** Frees a connection of this port for an address that has `own` there. */
  #freePlace(own: number): boolean {
    const holder = greediest(this.#counts(), own);
    return holder !== undefined && this.freeOf(holder);
  }

  *#counts(): Generator<[string, number]> {
    for (const [address, { size }] of this.#byAddress) yield [address, size];
  }

  #add(address: string, socket: Socket): void {
    const sockets = this.#byAddress.get(address) ?? new Set();
    this.#byAddress.set(address, sockets.add(socket));
    this.#count++;
    socket.once('close', () => this.#remove(address, socket));
  }

  #remove(address: string, socket: Socket): void {
    const sockets = this.#byAddress.get(address);
    if (sockets?.delete(socket) !== true) return;
    this.#count--;
    this.#slots.giveBack(address);
    if (sockets.size === 0) this.#byAddress.delete(address);
  }
}

/** A holder of one IPv6 address has the 2^64 addresses of its network, so they count as one. */
function networkOf(address: string): string {
  if (address.startsWith('::ffff:')) return address.slice('::ffff:'.length);
  if (!address.includes(':')) return address;
  const [left = [], right = []] = address
    .split('::')
    .map((half) => (half === '' ? [] : half.split(':')));
  const zeros = Array.from({ length: Math.max(8 - left.length - right.length, 0) }, () => '0');
  return [...left, ...zeros, ...right].slice(0, 4).join(':');
}
