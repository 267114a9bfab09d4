import type { BusEntity, BusMessage } from '../../../placement/systems/service-bus.js';
import type { CosmosVersion } from '../../../placement/systems/cosmos-db.js';
import type { EventHubsRule } from '../../../placement/systems/event-hubs.js';

/** One of the stores over which data are spread: a table, an account, a database. */
export interface ShardFacts {
  readonly name: string;
  /** At the busiest time. */
  readonly requestsPerSecond: number;
  readonly bytes?: number;
  readonly connections?: number;
  /** Sent and received in a second. */
  readonly bytesPerSecond?: number;
  /** The part of its load that its largest tenant makes, 0 to 1. */
  readonly largestTenant?: number;
  readonly region?: string;
  /**
   * The criticality of its data: `critical` data are those of the business, `transient` ones logs
   * and the like.
   */
  readonly holds?: readonly ('critical' | 'ordinary' | 'transient')[];
  readonly hasReplica?: boolean;
}

/** The figures of a shard that have a target. */
export const figuresOfShards = [
  'requestsPerSecond',
  'bytes',
  'connections',
  'bytesPerSecond',
] as const;

/** The key by which shards are chosen. */
export interface ShardKeyFacts {
  /** Its type, such as `text`, `int`, `bigint`, `guid`, `binary`, `dateTime`. */
  readonly type: string;
  /** How many values there are. */
  readonly values: number;
  readonly order?: 'increasing' | 'decreasing' | 'random';
  /** Chosen by a hash of the key, by its first letter, or by the key as it is. */
  readonly by?: 'hash' | 'first-letter' | 'value';
  /** Each entity has a value of its own. */
  readonly isOfOneEntity?: boolean;
}

export interface QueryFacts {
  readonly name: string;
  readonly perSecond: number;
  /** Whether the query gives the key that selects one shard. */
  readonly hasKey: boolean;
  readonly isCritical?: boolean;
  /** It reads several entities that follow each other. */
  readonly readsRange?: boolean;
  /** The target and the measured or expected duration, in milliseconds. */
  readonly targetMs?: number;
  readonly expectedMs?: number;
  /** Where its callers are. */
  readonly region?: string;
  /** Reference data that it needs: on every shard, or in one place. */
  readonly referenceData?: 'on-every-shard' | 'in-one-place';
}

/** A field of one row; rates in a second. */
export interface FieldFacts {
  readonly name: string;
  readonly readsPerSecond: number;
  readonly writesPerSecond: number;
  readonly isSecret?: boolean;
}

/** A part of the business, such as billing. */
export interface AreaFacts {
  readonly name: string;
  readonly account: string;
  /** It only reads, for reports, what another area of the account writes. */
  readonly isReport?: boolean;
}

export type Answer = 'yes' | 'no' | 'unknown';

/** Answers about operation: is there …? */
export interface OperationAnswers {
  readonly backupPlan?: Answer;
  readonly integrityJob?: Answer;
  readonly rebalancePlan?: Answer;
  readonly bulkLoader?: Answer;
  readonly archivePolicy?: Answer;
  readonly monitoring?: Answer;
}

/** The known facts about the systems that the design uses. */
export interface SystemFacts {
  readonly serviceBus?: {
    readonly entity: BusEntity;
    /** Messages need no order among each other. */
    readonly needsNoOrder?: boolean;
    readonly message?: BusMessage;
    readonly transaction?: readonly BusMessage[];
    /** Queues and topics to which one transaction sends. */
    readonly transactionTargets?: number;
    readonly sendTimeoutSeconds?: number;
    /** Receivers that peek rely on getting the oldest message of all. */
    readonly peeksForOldest?: boolean;
    /** The service deletes it when it is unused. */
    readonly deletesWhenIdle?: boolean;
    readonly usesAmqp?: boolean;
    /** Partitioned queues and topics of its namespace. */
    readonly partitionedEntities?: number;
  };
  readonly eventHubs?: {
    readonly partitions: number;
    /** The partitions that the expected growth needs. */
    readonly partitionsLater?: number;
    readonly tier?: string;
    /** The throughput units of the namespace, and its ingress and egress in a second. */
    readonly units?: number;
    readonly bytesIn?: number;
    readonly eventsIn?: number;
    readonly bytesOut?: number;
    readonly eventsOut?: number;
    readonly sendsToPartitionId?: boolean;
    /** The rules of all its senders. */
    readonly rules?: readonly EventHubsRule[];
  };
  readonly cosmosDb?: {
    readonly version: CosmosVersion;
    readonly largestLogicalBytes?: number;
    readonly longestKey?: number;
    /** Request units in a second that the busiest logical partition uses. */
    readonly busiestLogicalRate?: number;
    /** Characters of the longest id of a document. */
    readonly longestId?: number;
  };
  readonly redis?: {
    /** Groups of keys that one command or transaction uses in a cluster. */
    readonly together?: readonly (readonly string[])[];
    /** The cache has the only copy of its data. */
    readonly isOnlyCopy?: boolean;
    /** Servers are chosen by the hash modulo their number, and their number grows. */
    readonly isModulo?: boolean;
    readonly grows?: boolean;
    /** The size of one cache, of its largest value and of its longest key. */
    readonly bytes?: number;
    readonly largestValueBytes?: number;
    readonly longestKeyBytes?: number;
    /** A transaction relies on being applied completely or not at all. */
    readonly needsRollBack?: boolean;
  };
  readonly search?: {
    readonly partitions: number;
    readonly replicas: number;
    readonly tier?: string;
    readonly indexes?: number;
  };
  readonly serviceFabric?: { readonly partitions: number; readonly partitionsLater: number };
}

/** A design of partitions, as far as it is known: a rule only checks facts that are given. */
export interface PlacementDesign {
  readonly shards?: readonly ShardFacts[];
  readonly key?: ShardKeyFacts;
  /**
   * The growth to plan for, as a factor of load and size; 1 when absent. What is too much today is
   * found whatever it is.
   */
  readonly growth?: number;
  /** The capacity of one shard. */
  readonly shardTargets?: Readonly<Partial<Record<(typeof figuresOfShards)[number], number>>>;
  readonly accounts?: number;
  /** Databases of one server. */
  readonly databases?: number;
  readonly queries?: readonly QueryFacts[];
  /** `shards`: how many one of them writes to. */
  readonly transactions?: readonly { readonly name: string; readonly shards: number }[];
  readonly references?: readonly {
    readonly name: string;
    readonly across: 'shards' | 'areas' | 'halves';
    readonly isChecked: boolean;
  }[];
  /** The number of schemas of the types that one map routes. */
  readonly schemasOfMap?: number;
  /** Copies that may be older than their source, and whether readers can bear that. */
  readonly replicas?: { readonly areReadFrom: boolean; readonly mayBeOld: boolean };
  /** The fields of one row. */
  readonly fields?: readonly FieldFacts[];
  readonly areas?: readonly AreaFacts[];
  readonly queues?: readonly {
    readonly name: string;
    readonly messagesPerSecond: number;
    readonly areas: number;
  }[];
  /** Single blobs that are used much; rates in a second. */
  readonly blobs?: readonly {
    readonly name: string;
    readonly requestsPerSecond: number;
    readonly bytesPerSecond?: number;
  }[];
  /** Names of blobs, in the order of writing. */
  readonly blobNames?: readonly string[];
  readonly answers?: OperationAnswers;
  /** The available time, and the measured rate of a move or a backup. */
  readonly maintenance?: {
    readonly bytes: number;
    readonly bytesPerSecond: number;
    readonly windowSeconds: number;
  };
  readonly systems?: SystemFacts;
}
