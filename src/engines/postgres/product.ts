/** The databases that speak the protocol of PostgreSQL and that this engine knows. */
export type Product = 'PostgreSQL' | 'CockroachDB' | 'YugabyteDB';

/** How the engine treats a product. */
export interface ProductRules {
  /** Whether it supports the functions that the commit form `function` needs. */
  readonly hasFunctions: boolean;
  /** Whether a server may be a standby. Every server of the others takes writes. */
  readonly hasStandbys: boolean;
  /** Whether `pg_backend_pid` differs between connections that share nothing. */
  readonly namesProcesses: boolean;
  /** The settings of each connection, besides those of `Connection`. */
  readonly settings: readonly string[];
  /** Limits that only newer servers have, and that each connection turns off. */
  readonly newerLimits: readonly string[];
  /**
   * The least `server_version_num`; undefined where the number does not tell what the product
   * supports.
   */
  readonly versionMin?: number;
  /** The default isolation levels that are accepted. */
  readonly isolations: ReadonlySet<string>;
  /** Whether its settings show that commits are on disk before they are acknowledged. */
  readonly tellsDurability: boolean;
  /** The files with the statements that make its tables, in order. A released one never changes. */
  readonly migrations: readonly string[];
  /** Rewrites those statements for the product. */
  readonly adapt: (statements: string) => string;
}

/**
 * Overrides defaults that an administrator may have set. `read committed`: after a lock each
 * statement needs a new snapshot.
 */
const commonSettings = [
  "default_transaction_isolation = 'read committed'",
  'statement_timeout = 0',
  'lock_timeout = 0',
] as const;

const portableTables = ['0001-tables.sql', '0003-slots.sql'] as const;

/**
 * These products may apply definitions one by one, so an interrupted migration may have made some
 * of them.
 */
function ifAbsent(statements: string): string {
  return statements.replaceAll(/\bcreate (table|index) /g, 'create $1 if not exists ');
}

const rules: Readonly<Record<Product, ProductRules>> = {
  PostgreSQL: {
    hasFunctions: true,
    hasStandbys: true,
    namesProcesses: true,
    settings: [
      ...commonSettings,
      'default_transaction_deferrable = off',
      'idle_session_timeout = 0',
      // Makes every statement use an index, whatever the statistics of the tables say.
      'jit = off',
      'plan_cache_mode = force_generic_plan',
      'enable_seqscan = off',
      'enable_hashjoin = off',
      'enable_mergejoin = off',
      // A commit that the database has not replicated is acknowledged with a warning.
      'client_min_messages = warning',
    ],
    // Since PostgreSQL 17.
    newerLimits: ['transaction_timeout'],
    versionMin: 150_000,
    isolations: new Set(['read committed']),
    tellsDurability: true,
    migrations: [
      '0001-tables.sql',
      '0002-storage.sql',
      '0003-slots.sql',
      '0004-commits.sql',
      '0005-inserts.sql',
    ],
    adapt: (statements) => statements,
  },
  // Where `read committed` is not enabled, it uses `serializable` instead and aborts one of two
  // conflicting commits, which is sent again.
  CockroachDB: {
    hasFunctions: false,
    hasStandbys: false,
    namesProcesses: false,
    settings: commonSettings,
    newerLimits: [],
    isolations: new Set(['read committed', 'serializable']),
    tellsDurability: false,
    migrations: portableTables,
    adapt: ifAbsent,
  },
  // Primary keys are hashed unless their order is named. Where `read committed` is not enabled, it
  // uses snapshot isolation instead and aborts one of two conflicting commits, as above.
  YugabyteDB: {
    hasFunctions: false,
    hasStandbys: false,
    namesProcesses: false,
    settings: commonSettings,
    newerLimits: [],
    isolations: new Set(['read committed', 'repeatable read', 'serializable']),
    tellsDurability: false,
    migrations: portableTables,
    adapt: (statements) =>
      ifAbsent(statements).replaceAll('primary key (key)', 'primary key (key asc)'),
  },
};

export function rulesOf(product: Product): ProductRules {
  return rules[product];
}

/** Recognises the product by the answer to `select version()`. */
export function productOf(version: string): Product {
  if (version.includes('CockroachDB')) return 'CockroachDB';
  return version.includes('-YB-') ? 'YugabyteDB' : 'PostgreSQL';
}
