/** A promise that a run has seen broken. A run that does not end has shown none. */
export class Violation extends Error {
  override readonly name = 'Violation';
}

/** What fails in a check of a promise is a violation. */
export async function holds(check: () => void | Promise<void>): Promise<void> {
  try {
    await check();
  } catch (error) {
    if (error instanceof Violation) throw error;
    const text = error instanceof Error ? error.message : String(error);
    throw new Violation(text, { cause: error });
  }
}
