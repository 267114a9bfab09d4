/**
 * One thing that a step reads and writes: a row, a blob, a file. Each method is one request. ETags
 * tell versions apart.
 */
export interface Slot<Value> {
  /** Undefined when there is nothing. */
  etag(): Promise<string | undefined>;
  read(): Promise<{ readonly value: Value; readonly etag: string } | undefined>;
  /**
   * Stores a value where there is nothing, or, with an ETag, in place of that version. False, and
   * nothing is changed, when something else is there.
   */
  store(value: Value, etag: string | undefined): Promise<boolean>;
  /** Deletes that version, or with `'*'` any. False when there is nothing or another version. */
  delete(etag: string): Promise<boolean>;
}

/** Where things of one kind lie, and which of them a payload means. Made by `rowIn` and others. */
export interface Place<Payload, Value> {
  /** For reports: the name of the table, the container, the directory. */
  readonly name: string;
  /** Sends nothing. Throws for a payload that means nothing here: the intent then fails. */
  slot(payload: Payload): Slot<Value>;
}
