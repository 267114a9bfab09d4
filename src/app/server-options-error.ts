/** Options that cannot be served; the message says which and what would do. */
export class ServerOptionsError extends Error {
  override readonly name = 'ServerOptionsError';
}
