import type { ErrorLayer, ErrorShape } from './definition.js';
import { errorDefinition, errorRegistry, type ErrorCode } from './registry.js';

/** An extra child of an `<Error>` body with a detail of the error (queue-service §3.3). */
export type ErrorDetail = readonly [element: string, value: string];

export interface StorageErrorOptions {
  /** Replaces the registry's message where the protocol's wording depends on the case. */
  readonly message?: string;
  /** Zero-based position of the operation that failed in an entity group transaction. */
  readonly operationIndex?: number;
  /** The layer that found the error, when not the usual one of its code. */
  readonly layer?: ErrorLayer;
  /** The status, where that of the code depends on the case, as of a condition on a read. */
  readonly status?: number | undefined;
  /** Overrides whether the answer forbids caching. */
  readonly noCache?: boolean;
  /** Overrides the shape in which tables render the error. */
  readonly shape?: ErrorShape;
  /** In the order written. The shapes of the table service omit them. */
  readonly details?: readonly ErrorDetail[];
  /** The value of `WWW-Authenticate`: accepted ways to authenticate. The status is then 401. */
  readonly challenge?: string | undefined;
  /** The methods of the addressed resource, when the method of the request is not among them. */
  readonly allowed?: readonly string[] | undefined;
  /** The length of the resource in bytes, for a requested range that begins behind its end. */
  readonly lengthBytes?: number | undefined;
  /** When the unchanged resource was last modified, microseconds since 1970. */
  readonly modifiedMicros?: number | undefined;
  /** The time until a retry. */
  readonly retryAfterSeconds?: number | undefined;
  readonly cause?: unknown;
}

/**
 * A failed request as a value: says what went wrong, not how it is rendered. `render.ts` decides on
 * status, body shape and headers.
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
  readonly lengthBytes: number | undefined;
  readonly modifiedMicros: number | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly #status: number | undefined;

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
    this.lengthBytes = options.lengthBytes;
    this.modifiedMicros = options.modifiedMicros;
    this.#status = options.status;
    this.retryAfterSeconds = options.retryAfterSeconds;
  }

  /** The same error as that of one operation of an entity group transaction. */
  atOperation(operationIndex: number): StorageError {
    const { code, message, layer, shape, noCache, details } = this;
    const status = this.#status;
    const options = {
      message,
      layer,
      shape,
      noCache,
      details,
      operationIndex,
      status,
      cause: this,
    };
    return new StorageError(code, options);
  }

  get status(): number {
    if (this.challenge !== undefined) return 401;
    return this.#status ?? errorRegistry[this.code].status;
  }
}
