/** An entity that a request names, or all of a partition that it asks about. */
export interface EntityName {
  readonly partitionKey: string;
  readonly rowKey?: string | undefined;
}

/** Entities of one partition, or messages of a queue, that a request has written or returned. */
export interface PartitionLoad {
  /** Empty for messages. */
  readonly partitionKey: string;
  readonly count: number;
}
