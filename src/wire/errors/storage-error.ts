import { errorRegistry, type ErrorCode } from './registry.js';

export interface StorageErrorOptions {
  /** Replaces the registry's message where the spec words it per case. */
  readonly message?: string;
  /** Zero-based position of the operation that failed in an entity group transaction. */
  readonly operationIndex?: number;
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

  constructor(code: ErrorCode, options: StorageErrorOptions = {}) {
    super(options.message ?? errorRegistry[code].message, { cause: options.cause });
    this.code = code;
    this.operationIndex = options.operationIndex;
  }

  get status(): number {
    return errorRegistry[this.code].status;
  }
}
