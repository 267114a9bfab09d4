/**
 * The shape of an error body of the table service: OData JSON, front-door XML or OData XML, by the
 * layer that fails (table-service §3.1). Queues and blobs write every error as storage XML
 * (queue-service §3.3, blob-service §3.4); a code that tables never answer has that shape.
 */
export type ErrorShape = 'odata-json' | 'front-door-xml' | 'odata-xml' | 'storage-xml';

/**
 * The layer that finds an error in a changeset (table-service §9.5). A validation error always
 * carries the index of its operation, a storage error only in a changeset of several operations.
 */
export type ErrorLayer = 'validation' | 'storage';

export interface ErrorDefinition {
  readonly status: number;
  readonly message: string;
  readonly shape: ErrorShape;
  readonly layer: ErrorLayer;
  /** The JSON answer has `Cache-Control: no-cache` (table-service §3.1). */
  readonly noCache: boolean;
  /** The code that the table service sends, when it differs. */
  readonly tableCode?: string;
}

export function validation(status: number, message: string): ErrorDefinition {
  return { status, message, shape: 'odata-json', layer: 'validation', noCache: false };
}

/** An error in a well-formed operation, found before storage and rendered like a storage error. */
export function operation(status: number, message: string): ErrorDefinition {
  return { ...validation(status, message), noCache: true };
}

export function storage(status: number, message: string): ErrorDefinition {
  return { status, message, shape: 'odata-json', layer: 'storage', noCache: true };
}

export function frontDoor(status: number, message: string): ErrorDefinition {
  return { status, message, shape: 'front-door-xml', layer: 'validation', noCache: false };
}

export function format(status: number, message: string): ErrorDefinition {
  return { status, message, shape: 'odata-xml', layer: 'validation', noCache: false };
}

/** A code of the services that render every error as `<Error>`. */
export function storageXml(status: number, message: string): ErrorDefinition {
  return { status, message, shape: 'storage-xml', layer: 'storage', noCache: false };
}
