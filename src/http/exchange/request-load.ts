/** An entity of a request, or a whole partition. */
export interface EntityName {
  readonly partitionKey: string;
  readonly rowKey?: string | undefined;
}

/**
 * The entities of one partition, or messages of a queue, that a request has written or returned; or
 * the blob that it has addressed.
 */
export interface PartitionLoad {
  /** A PartitionKey or the name of a blob; empty for messages. */
  readonly partitionKey: string;
  readonly count: number;
}
