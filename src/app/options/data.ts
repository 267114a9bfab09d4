import { boolean, choice, text, whole } from '../../base/shape/shape.js';
import { seedShape } from '../seed/seed-shape.js';
import { option } from './option.js';

const workersMax = 64;

export const storageOptions = {
  /** The data directory; created when it does not exist. */
  location: option({
    shape: text(),
    help: 'the data directory; made when it does not exist',
    startDefault: './.tabularium',
    group: 'Data:',
    flags: [
      {
        spelling: '-l, --location <directory>',
        form: 'text',
        variable: 'TABULARIUM_LOCATION',
      },
    ],
    file: { member: 'location', example: '/var/lib/tabularium', isPath: true },
  }),
  /** Keep all data in memory; they are lost when the server closes. */
  inMemory: option({
    shape: boolean,
    help: 'keep everything in memory; it is gone when the server stops',
    defaultValue: false,
    group: 'Data:',
    flags: [
      { spelling: '--in-memory', form: 'on', variable: 'TABULARIUM_IN_MEMORY' },
      {
        spelling: '--inMemoryPersistence',
        form: 'on',
        help: 'as --in-memory',
        isOfAzurite: true,
      },
    ],
    file: { member: 'inMemory', example: true },
  }),
  /**
   * `lmdb`, the default: in the data directory. `postgres`: in a PostgreSQL database, which other
   * servers may use at the same time; the data directory then keeps the bytes of large blobs alone.
   */
  engine: option({
    shape: choice(['lmdb', 'postgres']),
    help:
      'where entities, messages and blobs are kept: lmdb, in the data directory; postgres, in a ' +
      'database that several servers may share',
    defaultWords: 'lmdb; postgres with a URL of a database',
    group: 'Data:',
    flags: [{ spelling: '--engine <name>', form: 'text', variable: 'TABULARIUM_ENGINE' }],
    file: { member: 'engine', example: 'postgres' },
    page: '../guides/postgres.md',
  }),
  /**
   * The database, `postgres://user:password@host:5432/name`; several hosts with commas between them
   * are tried in turn for the one that takes writes.
   */
  postgresUrl: option({
    shape: text(),
    help:
      'the database: postgres://user:password@host:5432/name; of several hosts, with commas ' +
      'between them, the one that takes writes',
    defaultWords: 'none',
    group: 'Data:',
    flags: [
      { spelling: '--postgres-url <url>', form: 'text', variable: 'TABULARIUM_POSTGRES_URL' },
    ],
    file: { member: 'postgresUrl', example: 'postgres://tabularium@db.example:5432/tabularium' },
    page: '../guides/postgres.md',
  }),
  /** The schema of the tables in the database; made when it does not exist. */
  postgresSchema: option({
    shape: text(),
    help: 'the schema of the tables in the database; made when it does not exist',
    defaultValue: 'tabularium',
    group: 'Data:',
    flags: [
      {
        spelling: '--postgres-schema <name>',
        form: 'text',
        variable: 'TABULARIUM_POSTGRES_SCHEMA',
      },
    ],
    file: { member: 'postgresSchema', example: 'tabularium' },
    page: '../guides/postgres.md',
  }),
  /**
   * What to do when a standby took over that lacks acknowledged commits: `refuse` writes until a
   * person has looked, or `accept` the loss. It is logged in both.
   */
  onLostCommits: option({
    shape: choice(['refuse', 'accept']),
    help:
      'when a standby took over that lacks commits which were acknowledged: refuse writes until a ' +
      'restart, or accept the loss; it is logged in both',
    defaultValue: 'refuse',
    group: 'Data:',
    flags: [
      {
        spelling: '--on-lost-commits <what>',
        form: 'text',
        variable: 'TABULARIUM_ON_LOST_COMMITS',
      },
    ],
    file: { member: 'onLostCommits', example: 'refuse' },
    page: '../guides/postgres.md',
  }),
  /**
   * Standbys of the database, in the form of its URL; the first that answers is what the secondary
   * endpoints read. They may be behind: `LastSyncTime` says how far.
   */
  postgresReplicas: option({
    shape: text(),
    help:
      'standbys of the database, in the form of its URL: the secondary endpoints read the first ' +
      'that answers',
    defaultWords: 'none; the secondary endpoints read the database',
    group: 'Data:',
    flags: [
      {
        spelling: '--postgres-replicas <url>',
        form: 'text',
        variable: 'TABULARIUM_POSTGRES_REPLICAS',
      },
    ],
    file: {
      member: 'postgresReplicas',
      example: 'postgres://tabularium@standby.example:5432/tabularium',
    },
    page: '../guides/postgres.md',
  }),
  /**
   * How commits are applied in the database: by a `function` in it, in one round trip, or as a
   * `transaction` of plain statements, in two, which needs no function. CockroachDB and YugabyteDB
   * take the second one alone.
   */
  postgresCommits: option({
    shape: choice(['function', 'transaction']),
    help:
      'how commits are applied in the database: function, in one round trip; transaction, by plain ' +
      'statements in two, without a function in the database',
    defaultWords: 'function; transaction on CockroachDB and YugabyteDB',
    group: 'Data:',
    flags: [
      {
        spelling: '--postgres-commits <form>',
        form: 'text',
        variable: 'TABULARIUM_POSTGRES_COMMITS',
      },
    ],
    file: { member: 'postgresCommits', example: 'transaction' },
    page: '../guides/postgres.md',
  }),
  /**
   * `durable`, the default: a write is acknowledged when it is on disk. `relaxed`: when the
   * operating system has it; a power failure can lose the last moments.
   */
  durability: option({
    shape: choice(['durable', 'relaxed']),
    help: 'when a write is on disk: durable, when it is acknowledged; relaxed, soon after',
    defaultValue: 'durable',
    group: 'Data:',
    flags: [{ spelling: '--durability <mode>', form: 'text', variable: 'TABULARIUM_DURABILITY' }],
    file: { member: 'durability', example: 'durable' },
  }),
  /**
   * `on`, the default where one process keeps durable data in a directory: writes are durable when
   * a journal beside the data file has them, and go to the data file later. `off`: each waits for
   * the data file, as the writes of several processes do.
   */
  journal: option({
    shape: choice(['on', 'off']),
    help:
      'on: writes are durable when a journal has them, which is faster, and go to the data file ' +
      'later; off: each waits for the data file',
    defaultWords: 'on; off with workers, in memory and relaxed',
    group: 'Data:',
    flags: [{ spelling: '--journal <mode>', form: 'text', variable: 'TABULARIUM_JOURNAL' }],
    file: { member: 'journal', example: 'off' },
  }),
};

export const seedOptions = {
  /** Data to create before the server listens, where they do not exist. */
  init: option({
    shape: seedShape,
    help:
      'make the tables, queues and containers of this seed, as far as they are absent, ' +
      'before the server listens',
    defaultWords: 'none',
    group: 'Data:',
    flags: [
      { spelling: '--init <file>', form: 'text', shape: text(), variable: 'TABULARIUM_INIT' },
    ],
    file: {
      member: 'init',
      shape: text(),
      help:
        'a seed file: tables, entities, queues and messages that the server makes before it ' +
        'listens, as far as they are absent',
      example: 'seed.yaml',
      isPath: true,
    },
    page: 'seed.md',
  }),
};

/** Only for `tabularium start`. */
export const processOptions = {
  config: option({
    shape: text(),
    help: 'take settings from this file, YAML or JSON; options and variables go before it',
    defaultWords: 'none',
    flags: [{ spelling: '--config <file>', form: 'text', variable: 'TABULARIUM_CONFIG' }],
    page: 'configuration.md',
  }),
  workers: option({
    shape: whole(1, workersMax),
    help: 'how many processes serve the data directory',
    defaultValue: 1,
    group: 'Data:',
    flags: [{ spelling: '--workers <count>', form: 'number', variable: 'TABULARIUM_WORKERS' }],
    file: { member: 'workers', example: 4 },
    page: 'command-line.md#workers',
  }),
};
