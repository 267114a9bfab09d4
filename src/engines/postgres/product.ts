/** Which database of the family a server is. */
export type Product = 'PostgreSQL' | 'CockroachDB' | 'YugabyteDB';

/** What the engine does otherwise from product to product. */
export interface ProductRules {
  /** Whether it has the functions of the form `function`. */
  readonly hasFunctions: boolean;
  /** Whether a server may be a standby. Every server of the others takes writes. */
  readonly hasStandbys: boolean;
  /** What is set on each connection. */
  readonly settings: readonly string[];
  /** The least `server_version_num`; undefined: it says nothing of what the product has. */
  readonly versionMin?: number;
  /** Levels that transactions may have by default. */
  readonly isolations: ReadonlySet<string>;
  /** Whether its settings tell that a commit is on disk before it is acknowledged. */
  readonly tellsDurability: boolean;
  /** The statements that make its tables, in their order. One that was released never changes. */
  readonly migrations: readonly string[];
  /** Those statements as the product takes them. */
  readonly adapt: (statements: string) => string;
}

/** What an administrator has set for others. Each statement behind a lock needs a new snapshot. */
const commonSettings = [
  "default_transaction_isolation = 'read committed'",
  'statement_timeout = 0',
  'lock_timeout = 0',
  'idle_in_transaction_session_timeout = 0',
] as const;

const portableTables = ['0001-tables.sql', '0003-slots.sql'] as const;

/** Definitions may be applied one by one there, so that an interrupted migration has made some. */
function ifAbsent(statements: string): string {
  return statements.replaceAll(/\bcreate (table|index) /g, 'create $1 if not exists ');
}

const rules: Readonly<Record<Product, ProductRules>> = {
  PostgreSQL: {
    hasFunctions: true,
    hasStandbys: true,
    settings: [
      ...commonSettings,
      'default_transaction_deferrable = off',
      'idle_session_timeout = 0',
      // Every statement can use an index, whatever the statistics of the tables say.
      'jit = off',
      'plan_cache_mode = force_generic_plan',
      'enable_seqscan = off',
      'enable_hashjoin = off',
      'enable_mergejoin = off',
    ],
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
  // Where it does not allow `read committed` it takes `serializable`, and ends one of two commits that
  // meet: that one is sent again.
  CockroachDB: {
    hasFunctions: false,
    hasStandbys: false,
    settings: commonSettings,
    isolations: new Set(['read committed', 'serializable']),
    tellsDurability: false,
    migrations: portableTables,
    adapt: ifAbsent,
  },
  // A primary key is a hash there unless its order is named. Without its flag for `read committed` a
  // transaction is a snapshot: then it ends one of two commits that meet, as above.
  YugabyteDB: {
    hasFunctions: false,
    hasStandbys: false,
    settings: commonSettings,
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

/** By what a server answers to `select version()`. */
export function productOf(version: string): Product {
  if (version.includes('CockroachDB')) return 'CockroachDB';
  return version.includes('-YB-') ? 'YugabyteDB' : 'PostgreSQL';
}
