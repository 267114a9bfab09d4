/**
 * What a client asked for and was told. Times are numbers of events in the order in which this
 * process saw them: an operation that ended before another began took effect before it.
 */
export interface Operation<Input, Output> {
  readonly input: Input;
  readonly invokedAt: number;
  /** Infinity while no answer came: it may have happened since, may happen yet, or never. */
  readonly respondedAt: number;
  readonly output: Output | undefined;
}

/** Of one object, such as a partition or a queue, that many clients use at once. */
export class History<Input, Output> {
  readonly #operations: Operation<Input, Output>[] = [];
  #events = 0;

  /** Runs the request between its two events. Rethrows what it throws, its outcome being unknown. */
  async record(input: Input, request: () => Promise<Output>): Promise<Output> {
    const index = this.#operations.length;
    const begun = { input, invokedAt: this.#events++, respondedAt: Infinity, output: undefined };
    this.#operations.push(begun);
    const output = await request();
    this.#operations[index] = { ...begun, respondedAt: this.#events++, output };
    return output;
  }

  get operations(): readonly Operation<Input, Output>[] {
    return this.#operations;
  }
}
