/**
 * The location of one value that a step reads and writes: a row, a blob or a file. Each method
 * sends one request. ETags distinguish versions.
 */
export interface Slot<Value> {
  /** Undefined when there is nothing. */
  etag(): Promise<string | undefined>;
  read(): Promise<{ readonly value: Value; readonly etag: string } | undefined>;
  /**
   * Stores a value where there is nothing, or, with an ETag, over that version. False, and nothing
   * changes, when something else is there.
   */
  store(value: Value, etag: string | undefined): Promise<boolean>;
  /** Deletes that version, or any with `'*'`. False when there is nothing, or another version. */
  delete(etag: string): Promise<boolean>;
}

/**
 * A table, container or directory, in which a payload determines one location. Made by `rowIn` and
 * others.
 */
export interface Place<Payload, Value> {
  /** For reports: the name of the table, the container, the directory. */
  readonly name: string;
  /** Sends nothing. Throws for a payload without a location here: the intent then fails. */
  slot(payload: Payload): Slot<Value>;
}
