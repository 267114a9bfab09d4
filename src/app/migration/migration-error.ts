/** A migration cannot be done, or was not done. The message says why, and what to do. */
export class MigrationError extends Error {
  override readonly name = 'MigrationError';
}
