import type { Socket } from 'node:net';

/** The decision about a new connection. */
export type Admission = 'admitted' | 'address-full' | 'port-full';

export interface AddressSharesOptions {
  readonly connectionsMax: number;
  readonly connectionsPerAddressMax: number;
  /** True when no request is in progress on a connection. */
  readonly isIdle: (socket: Socket) => boolean;
}

/**
 * Limits the connections of each client address on a port. When the port is full, an address with
 * fewer connections than the largest holder takes over that holder's oldest idle connection; so
 * nobody can lock others out by holding connections open.
 */
export class AddressShares {
  readonly #options: AddressSharesOptions;
  readonly #byAddress = new Map<string, Set<Socket>>();
  #count = 0;

  constructor(options: AddressSharesOptions) {
    this.#options = options;
  }

  /** Admits a connection, or says why not. The caller closes a refused one. */
  admit(socket: Socket): Admission {
    const { connectionsMax, connectionsPerAddressMax } = this.#options;
    const address = networkOf(socket.remoteAddress ?? '');
    const own = this.#byAddress.get(address)?.size ?? 0;
    if (own >= connectionsPerAddressMax) return 'address-full';
    if (this.#count >= connectionsMax && !this.#freeConnection(own)) return 'port-full';
    this.#add(address, socket);
    return 'admitted';
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
    if (sockets.size === 0) this.#byAddress.delete(address);
  }

  /**
   * Frees a connection for an address that has `own`. The largest holder must have at least two
   * more, so that addresses do not take turns.
   */
  #freeConnection(own: number): boolean {
    let [greediest, most] = ['', own + 1];
    for (const [address, { size }] of this.#byAddress)
      if (size > most) [greediest, most] = [address, size];
    for (const socket of this.#byAddress.get(greediest) ?? []) {
      if (!this.#options.isIdle(socket)) continue;
      this.#remove(greediest, socket);
      socket.destroy();
      return true;
    }
    return false;
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
