/** The request behind an error. */
export interface RequestSummary {
  readonly table: string;
  readonly operation: string;
  readonly partitionKey?: string;
  readonly rowKey?: string;
  readonly filter?: string;
}

/** Details of an error besides its message. */
export interface ModelErrorOptions {
  readonly cause?: unknown;
  readonly request?: RequestSummary;
}

/** The base of every error of this library. `cause` is the underlying error, if there is one. */
export class ModelError extends Error {
  override readonly name: string = 'ModelError';
  /** The request that failed; undefined when nothing was sent. */
  readonly request: RequestSummary | undefined;

  constructor(message: string, options: ModelErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.request = options.request;
  }
}

/** A value that does not fit its property or key. Nothing was sent. */
export class ValueError extends ModelError {
  override readonly name: string = 'ValueError';
}

/**
 * An entity, a property, a key or a transaction exceeds a limit of the service. Nothing was
 * applied. `cause` is set when the service refused it.
 */
export class TooLargeError extends ValueError {
  override readonly name = 'TooLargeError';
}

/** A stored row that does not match its definition. */
export class DecodeError extends ModelError {
  override readonly name = 'DecodeError';
}

/** A definition, or a use of one, that contradicts itself: a mistake in the program. */
export class DefinitionError extends ModelError {
  override readonly name = 'DefinitionError';
}
