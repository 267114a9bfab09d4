import type { ServiceName } from '../../src/app/options.js';

/** A request to one service. It is signed with the account's key unless it brings a credential. */
export interface PlainRequest {
  readonly service: ServiceName;
  readonly method: string;
  /** After the account, with its query. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Sent as it is: the path with the account, and no signature. */
  readonly unsigned?: boolean;
}

/** The worst that somebody may ask of one operation, as far as it is known. */
export interface HostileRequest extends PlainRequest {
  /** The operation's name in the route table, or what kind of credential is meant. */
  readonly operation: string;
  /** What is hostile about it. */
  readonly what: string;
  /** Sent before each measured request, outside of the measurement. */
  readonly before?: readonly PlainRequest[];
}

/** A body of 4 MiB is the largest that operations of tables take. */
export const bodyBytesMax = 4 << 20;
/** A request line and its header fields have 65,536 bytes; some are for the others. */
export const headerBytesMax = 62_000;

/** As many parts as fit into so many characters, each made of its place. */
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
