/** An entity of a request, or a whole partition. */
export interface EntityName {
  /** The container of a blob. Absent: the table, queue or container that the request addresses. */
  readonly container?: string | undefined;
  readonly partitionKey: string;
  readonly rowKey?: string | undefined;
}

/**
 * The entities of one partition, or messages of a queue, that a request has written or returned; or
 * a blob that it has addressed.
 */
export interface PartitionLoad {
  /** The container of a blob. Absent: the table, queue or container that the request addressed. */
  readonly container?: string | undefined;
  /** A PartitionKey or the name of a blob; empty for messages. */
  readonly partitionKey: string;
  readonly count: number;
}

export const noLoad: readonly PartitionLoad[] = Object.freeze([]);
