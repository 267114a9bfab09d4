import { timerMsMax } from '../../base/async/timers.js';
import { member, object, whole, type MembersOf, type Shape } from '../../base/shape/shape.js';

interface LimitRow {
  readonly defaultValue: number;
  readonly meaning: string;
  readonly max: number | undefined;
}

function bound(defaultValue: number, meaning: string): LimitRow {
  return { defaultValue, meaning, max: undefined };
}

function time(defaultValue: number, meaning: string): LimitRow {
  return { defaultValue, meaning, max: timerMsMax };
}

/**
 * Bounds of the HTTP layer, each with its default. docs/reference/limits.md says what clients see
 * of them.
 */
const limitTable = {
  /** Request line and header fields together, in bytes. A `$filter` can be many kilobytes. */
  headerBytesMax: bound(64 * 1024, 'Bytes of the request line and header fields together.'),
  /** Over TLS: from the opening of a connection to the end of its handshake. */
  handshakeTimeoutMs: time(
    30_000,
    'Milliseconds from the opening of a connection to the end of its TLS handshake.',
  ),
  /**
   * From the first byte of a request to the end of its header; for the first request from the
   * opening of the connection.
   */
  headersTimeoutMs: time(
    30_000,
    'Milliseconds from the first byte of a request to the end of its header.',
  ),
  /** From the first byte of a request to the end of its body. */
  requestTimeoutMs: time(
    120_000,
    'Milliseconds from the first byte of a request to the end of its body.',
  ),
  /** From the end of an answer until its client has read all of it. */
  responseTimeoutMs: time(
    120_000,
    'Milliseconds from an answer until its client has taken all of it.',
  ),
  /** How long an idle connection is kept. With short values, clients write to closed sockets. */
  keepAliveTimeoutMs: time(60_000, 'Milliseconds that an idle connection is kept.'),
  /** Further connections are closed unanswered. */
  connectionsMax: bound(10_000, 'Connections at a time; more are closed unanswered.'),
  /** Connections of one address, or one network of IPv6 (/64). More are closed unanswered. */
  connectionsPerAddressMax: bound(
    10_000,
    'Connections of one client address at a time; more are closed unanswered.',
  ),
  /** Request bodies and answers of the process, of all services together, in bytes. */
  heldBytesMax: bound(
    256 * 1024 * 1024,
    'Bytes of request bodies and answers that the process holds at a time, for all services together.',
  ),
  /** Requests of one connection that wait for the answer to an earlier one. */
  waitingRequestsMax: bound(
    32,
    'Requests of one connection that wait for the answer to an earlier one; a client with more is cut off.',
  ),
  /** The longest and the default time that the storage work of a request may take. */
  operationTimeoutMs: time(30_000, 'Milliseconds that the storage work of a request may take.'),
  /** How much of a refused body is read, so that the client can read the answer. */
  lingerBytesMax: bound(
    32 * 1024 * 1024,
    'Bytes of a refused body that are read, so that the client gets to see the answer.',
  ),
  lingerMs: time(2_000, 'Milliseconds for reading a refused body.'),
  /** How long `close` waits for requests in flight. */
  closeTimeoutMs: time(10_000, 'Milliseconds that requests in flight get when the server stops.'),
};

type LimitName = keyof typeof limitTable;

/** Bounds of the HTTP layer; times in milliseconds. */
export type HttpLimits = { readonly [Name in LimitName]: number };

function forEachLimit<Value>(make: (row: LimitRow) => Value): { readonly [N in LimitName]: Value } {
  const made = Object.entries(limitTable).map(([name, row]) => [name, make(row)] as const);
  return Object.fromEntries(made) as { readonly [N in LimitName]: Value };
}

export const defaultLimits: HttpLimits = Object.freeze(
  forEachLimit(({ defaultValue }) => defaultValue),
);

const members: MembersOf<HttpLimits> = forEachLimit(({ defaultValue, meaning, max }) =>
  member(whole(1, max), `${meaning} Default: ${defaultValue}.`, defaultValue),
);

export const limitsShape: Shape<Partial<HttpLimits>> = object<Partial<HttpLimits>>(members, {
  definition: { name: 'limits', description: 'Bounds of HTTP.' },
});
