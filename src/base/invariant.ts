/** A broken promise between parts of this program: a defect, never the caller's mistake. */
export class InvariantError extends Error {
  override readonly name = 'InvariantError';
}

/** Asserts what must hold whatever the input. Bad input is a `StorageError` instead. */
export function invariant(condition: boolean, message: string): asserts condition {
  if (!condition) throw new InvariantError(message);
}

/** Marks the branch that an exhaustive switch cannot reach. */
export function unreachable(value: never): never {
  throw new InvariantError(`unreachable: ${JSON.stringify(value)}`);
}
