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
  /** What is in it; `critical` data are of the business, `transient` ones logs and the like. */
  readonly holds?: readonly ('critical' | 'ordinary' | 'transient')[];
  readonly hasReplica?: boolean;
}

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
  /** Whether it gives the key that leads to one shard. */
  readonly hasKey: boolean;
  readonly isCritical?: boolean;
  /** It reads several entities that follow each other. */
  readonly readsRange?: boolean;
  /** Milliseconds that it may take, and that it takes or is expected to. */
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

/** Is there …? */
export interface OperationAnswers {
  readonly backupPlan?: Answer;
  readonly integrityJob?: Answer;
  readonly rebalancePlan?: Answer;
  readonly bulkLoader?: Answer;
  readonly archivePolicy?: Answer;
  readonly monitoring?: Answer;
}

/** What is known of the systems that the design uses. */
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
    /** It is to go by itself when nobody uses it. */
    readonly deletesWhenIdle?: boolean;
    readonly usesAmqp?: boolean;
    /** Partitioned queues and topics of its namespace. */
    readonly partitionedEntities?: number;
  };
  readonly eventHubs?: {
    readonly partitions: number;
    /** Partitions that the expected growth asks for. */
    readonly partitionsLater?: number;
    readonly tier?: string;
    /** Throughput units of the namespace, and what goes in and out of it in a second. */
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
    /** Keys that one command or transaction takes in a cluster. */
    readonly together?: readonly (readonly string[])[];
    /** Data that are nowhere else. */
    readonly isOnlyCopy?: boolean;
    /** Servers are chosen by the hash modulo their number, and their number grows. */
    readonly isModulo?: boolean;
    readonly grows?: boolean;
    /** The size of one cache, and of its largest value. */
    readonly bytes?: number;
    readonly largestValueBytes?: number;
    /** A transaction counts on all or nothing. */
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

/** A design of partitions, as far as it is known: rules ask only what is told. */
export interface PlacementDesign {
  readonly shards?: readonly ShardFacts[];
  readonly key?: ShardKeyFacts;
  /** The growth to plan for, as a factor of load and size; 1 when absent. */
  readonly growth?: number;
  /** What one shard carries. */
  readonly shardTargets?: {
    readonly requestsPerSecond?: number;
    readonly bytes?: number;
    readonly connections?: number;
    readonly bytesPerSecond?: number;
  };
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
  /** Schemas of the types that one map leads to. */
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
  /** The time that is there, and the measured rate of a move or a backup. */
  readonly maintenance?: {
    readonly bytes: number;
    readonly bytesPerSecond: number;
    readonly windowSeconds: number;
  };
  readonly systems?: SystemFacts;
}
