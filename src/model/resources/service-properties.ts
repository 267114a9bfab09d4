/** How long analytics data is kept. */
export interface RetentionPolicy {
  readonly enabled: boolean;
  /** 1 to 365; present exactly when the policy is enabled. */
  readonly days?: number;
}

/** Which requests the analytics log records. */
export interface LoggingProperties {
  /** `1.0` or `2.0`. */
  readonly version: string;
  readonly read: boolean;
  readonly write: boolean;
  readonly delete: boolean;
  readonly retention: RetentionPolicy;
}

/** Hour or minute metrics. */
export interface MetricsProperties {
  /** `1.0`. */
  readonly version: string;
  readonly enabled: boolean;
  /** Present exactly when metrics are enabled. */
  readonly includeApis?: boolean;
  readonly retention: RetentionPolicy;
}

/** One rule of cross-origin resource sharing (queue-service §10). */
export interface CorsRule {
  /** Origins, or `*`. */
  readonly allowedOrigins: readonly string[];
  readonly allowedMethods: readonly string[];
  /** Header names; one that ends in `*` is a prefix. */
  readonly allowedHeaders: readonly string[];
  readonly exposedHeaders: readonly string[];
  readonly maxAgeSeconds: number;
}

/** How long blobs are kept that were deleted or overwritten (blob-service §16.3). */
export interface DeleteRetention extends RetentionPolicy {
  /** Whether a client may end that time. */
  readonly allowPermanentDelete: boolean;
}

/** The static website of an account. Names and paths of blobs of its container. */
export interface StaticWebsite {
  readonly enabled: boolean;
  readonly indexDocument?: string;
  readonly defaultIndexDocumentPath?: string;
  readonly errorDocument404Path?: string;
}

/**
 * The settings of one service of an account (queue-service §6.2, table-service §3.15, blob-service
 * §6.2).
 */
export interface ServiceProperties {
  readonly logging: LoggingProperties;
  readonly hourMetrics: MetricsProperties;
  readonly minuteMetrics: MetricsProperties;
  /** In the order in which they are tried. */
  readonly cors: readonly CorsRule[];
  /** The version of requests to blobs that name none. Absent: there is no default. */
  readonly defaultServiceVersion?: string;
  /** Set for blobs alone. */
  readonly deleteRetention?: DeleteRetention;
  /** Set for blobs alone. */
  readonly staticWebsite?: StaticWebsite;
}
