import {
  errorDefinition,
  errorRegistry,
  type ErrorCode,
  type ErrorLayer,
  type ErrorShape,
} from './registry.js';

/** An extra child of an `<Error>` body: what the error is about (queue-service §3.3). */
export type ErrorDetail = readonly [element: string, value: string];

export interface StorageErrorOptions {
  /** Replaces the registry's message where the protocol words it per case. */
  readonly message?: string;
  /** Zero-based position of the operation that failed in an entity group transaction. */
  readonly operationIndex?: number;
  /** The layer that found it, where that is not the one that finds its code otherwise. */
  readonly layer?: ErrorLayer;
  /** Whether its answer forbids caching, where that is not so for its code otherwise. */
  readonly noCache?: boolean;
  /** How tables write it, where that is not the shape of its code otherwise. */
  readonly shape?: ErrorShape;
  /** In the order written. The shapes of the table service leave them out. */
  readonly details?: readonly ErrorDetail[];
  /** What to authenticate with instead, the value of `WWW-Authenticate`. The status is then 401. */
  readonly challenge?: string | undefined;
  /** The methods that the addressed resource has, when it does not have that of the request. */
  readonly allowed?: readonly string[] | undefined;
  /** After how long to try again. */
  readonly retryAfterSeconds?: number | undefined;
  readonly cause?: unknown;
}

/**
 * A request that cannot be served, as a value: what went wrong, not how it is rendered. Status,
 * body shape and headers are decided by `render.ts` at the edge.
 */
export class StorageError extends Error {
  override readonly name = 'StorageError';
  readonly code: ErrorCode;
  readonly operationIndex: number | undefined;
  readonly layer: ErrorLayer;
  readonly shape: ErrorShape;
  readonly noCache: boolean;
  readonly details: readonly ErrorDetail[];
  readonly challenge: string | undefined;
  readonly allowed: readonly string[] | undefined;
  readonly retryAfterSeconds: number | undefined;

  constructor(code: ErrorCode, options: StorageErrorOptions = {}) {
    super(options.message ?? errorRegistry[code].message, { cause: options.cause });
    this.code = code;
    this.operationIndex = options.operationIndex;
    this.layer = options.layer ?? errorDefinition(code).layer;
    this.shape = options.shape ?? errorDefinition(code).shape;
    this.noCache = options.noCache ?? errorDefinition(code).noCache;
    this.details = options.details ?? [];
    this.challenge = options.challenge;
    this.allowed = options.allowed;
    this.retryAfterSeconds = options.retryAfterSeconds;
  }

  /** The same error, of one operation of an entity group transaction. */
  atOperation(operationIndex: number): StorageError {
    const { code, message, layer, shape, noCache, details } = this;
    const options = { message, layer, shape, noCache, details, operationIndex, cause: this };
    return new StorageError(code, options);
  }

  get status(): number {
    return this.challenge === undefined ? errorRegistry[this.code].status : 401;
  }
}
