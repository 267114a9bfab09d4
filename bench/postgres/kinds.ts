/** The kinds of load for the engine. */
export const postgresKinds = ['insert', 'partition', 'get', 'range', 'queue', 'http'] as const;
export type PostgresKind = (typeof postgresKinds)[number];

/** Kinds that the driver alone is measured by as well, in turns. */
export const comparedKinds = ['insert', 'get', 'range'] as const satisfies readonly PostgresKind[];
export type ComparedKind = (typeof comparedKinds)[number];

export const rangeRows = 100;
export const valueBytes = 1_000;
/** Rows of one statement of the driver: as many as commits share a round trip at most. */
export const batchRows = 64;

/** Calls under way at a time. The driver does a batch of inserts a call, on as many connections. */
export const callers = {
  insert: { engine: 256, driver: 2 },
  get: { engine: 64, driver: 64 },
  range: { engine: 16, driver: 16 },
} as const satisfies Record<ComparedKind, { readonly engine: number; readonly driver: number }>;

/** The targets: the least shares of the driver's rate. */
export const goals = { insert: 0.8, get: 0.8, range: 0.7 } as const satisfies Record<
  ComparedKind,
  number
>;

/** Commits to one partition in a second from two processes, at least. */
export const partitionGoal = 2_000;
