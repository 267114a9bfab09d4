/** What was asked of the service, as far as an error tells it. */
export interface RequestSummary {
  readonly table: string;
  readonly operation: string;
  readonly partitionKey?: string;
  readonly rowKey?: string;
  readonly filter?: string;
}

/** What an error is told besides its message. */
export interface ModelErrorOptions {
  readonly cause?: unknown;
  readonly request?: RequestSummary;
}

/** The base of every error of this library. `cause` is what it was made of, if anything. */
export class ModelError extends Error {
  override readonly name: string = 'ModelError';
  /** The request that failed; undefined when nothing was sent. */
  readonly request: RequestSummary | undefined;

  constructor(message: string, options: ModelErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.request = options.request;
  }
}

/** A value that its property or key cannot hold. Nothing was sent. */
export class ValueError extends ModelError {
  override readonly name: string = 'ValueError';
}

/**
 * An entity, a property, a key or a transaction is larger than the service takes. Nothing was
 * applied. `cause` is there when the service said so.
 */
export class TooLargeError extends ValueError {
  override readonly name = 'TooLargeError';
}

/** A stored row that is not what its definition says. */
export class DecodeError extends ModelError {
  override readonly name = 'DecodeError';
}

/** A definition, or a use of one, that contradicts itself. A mistake in the program. */
export class DefinitionError extends ModelError {
  override readonly name = 'DefinitionError';
}
