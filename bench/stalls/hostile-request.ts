import type { Ports } from '../child.js';

/**
 * How a request is authenticated: by a signature of the account, by a bearer token, or by headers
 * and parameters of its own.
 */
export type Sender = 'SharedKey' | 'SharedKeyLite' | 'bearer' | 'as-it-is';

/** A request to one service. */
export interface PlainRequest {
  readonly service: keyof Ports;
  readonly method: string;
  /** The path behind the account, with the query. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** When absent, clients of the service choose. */
  readonly sender?: Sender;
  /** Sends the request to the secondary of the account. */
  readonly secondary?: boolean;
}

/** The most expensive request of one operation that is known. */
export interface HostileRequest extends PlainRequest {
  /** The operation's name in the route table, or what kind of credential is meant. */
  readonly operation: string;
  /** How it attacks the server. */
  readonly what: string;
  /** Requests to send before each measured one, outside of the measurement. */
  readonly before?: readonly PlainRequest[];
  /** Makes the path when it depends on the answer to the last of those. */
  readonly pathFrom?: (answer: string) => string;
  /** Further header fields, different for each request. */
  readonly freshHeaders?: () => Promise<Readonly<Record<string, string>>>;
}

/** A body of 4 MiB is the largest that operations of tables take. */
export const bodyBytesMax = 4 << 20;
/** A request line and its header fields have 65,536 bytes; some are for the others. */
export const headerBytesMax = 62_000;

/** As many parts as fit into this many characters, each made from its index. */
export function filled(
  charactersMax: number,
  separator: string,
  part: (place: number) => string,
): string {
  const parts: string[] = [];
  let length = 0;
  for (let place = 0; ; place += 1) {
    const next = part(place);
    length += next.length + separator.length;
    if (length > charactersMax) return parts.join(separator);
    parts.push(next);
  }
}
