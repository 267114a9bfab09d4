/** An entity of a request, or a whole partition. */
export interface EntityName {
  readonly partitionKey: string;
  readonly rowKey?: string | undefined;
}

/**
 * The entities of one partition, or messages of a queue, that a request has written or returned.
 */
export interface PartitionLoad {
  /** Empty for messages. */
  readonly partitionKey: string;
  readonly count: number;
}
