/**
 * What a client requested and received. Times are numbers of events in the order in which this
 * process observed them: an operation that ended before another began took effect before it.
 */
export interface Operation<Input, Output> {
  readonly input: Input;
  readonly invokedAt: number;
  /** Infinity without a response: the operation may take effect at any time, or never. */
  readonly respondedAt: number;
  readonly output: Output | undefined;
}

/** The operations of many clients on one object, such as a partition or a queue. */
export class History<Input, Output> {
  readonly #operations: Operation<Input, Output>[] = [];
  #events = 0;

  /**
   * Records the begin and end of a request. When it throws, its outcome is unknown; the error is
   * rethrown.
   */
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
