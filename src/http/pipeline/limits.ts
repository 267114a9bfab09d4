/** Bounds of the HTTP layer. docs/reference/limits.md says what clients see of them. */
export interface HttpLimits {
  /** Request line and header fields together, in bytes. A `$filter` can be many kilobytes. */
  readonly headerBytesMax: number;
  /** Over TLS: from the opening of a connection to the end of its handshake. */
  readonly handshakeTimeoutMs: number;
  /**
   * From the first byte of a request to the end of its header; for the first request from the
   * opening of the connection.
   */
  readonly headersTimeoutMs: number;
  /** From the first byte of a request to the end of its body. */
  readonly requestTimeoutMs: number;
  /** From an answer until its client has taken all of it. */
  readonly responseTimeoutMs: number;
  /** How long an idle connection is kept. Short values make clients write into closed sockets. */
  readonly keepAliveTimeoutMs: number;
  /** Connections beyond this are closed unanswered. */
  readonly connectionsMax: number;
  /** Connections of one address, or one network of IPv6 (/64). More are closed unanswered. */
  readonly connectionsPerAddressMax: number;
  /** Request bodies and answers of the process, of all services together, in bytes. */
  readonly heldBytesMax: number;
  /** Requests of one connection that wait for the answer to an earlier one. */
  readonly waitingRequestsMax: number;
  /** The longest and the default time that the storage work of a request may take. */
  readonly operationTimeoutMs: number;
  /** How much of a refused body is read, so that the client gets to see the answer. */
  readonly lingerBytesMax: number;
  readonly lingerMs: number;
  /** How long `close` waits for requests in flight. */
  readonly closeTimeoutMs: number;
}

export const defaultLimits: HttpLimits = {
  headerBytesMax: 64 * 1024,
  handshakeTimeoutMs: 30_000,
  headersTimeoutMs: 30_000,
  requestTimeoutMs: 120_000,
  responseTimeoutMs: 120_000,
  keepAliveTimeoutMs: 60_000,
  connectionsMax: 10_000,
  connectionsPerAddressMax: 10_000,
  heldBytesMax: 256 * 1024 * 1024,
  waitingRequestsMax: 32,
  operationTimeoutMs: 30_000,
  lingerBytesMax: 32 * 1024 * 1024,
  lingerMs: 2_000,
  closeTimeoutMs: 10_000,
};
