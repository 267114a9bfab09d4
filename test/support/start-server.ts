import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  createServer,
  type RequestRecord,
  type ServerOptions,
  type TabulariumServer,
} from '../../src/app/index.js';
import { dropSchema } from './engine-postgres.js';
import { createMovingServer } from './moving-ranges.js';
import { pageShapes } from './page-shapes.js';

export interface StartedServer extends AsyncDisposable {
  readonly server: TabulariumServer;
  /** The data directory, which is removed in the end; undefined for a server in memory. */
  readonly location: string | undefined;
  /** One record for each request, in the order in which requests ended. */
  readonly records: readonly RequestRecord[];
  /** Errors that the server logged. A suite without expected errors can check that it is empty. */
  readonly errors: readonly unknown[];
  /** Resolves when `count` records have been made. */
  recorded(count: number): Promise<void>;
}

/** The database of tests that run over PostgreSQL (`npm run test:postgres`). */
const postgresUrl = process.env['TABULARIUM_TEST_POSTGRES'];

/** Set where the suites run over stores whose ranges move (`npm run test:partition`). */
const isMoving = process.env['TABULARIUM_TEST_PARTITION'] !== undefined;

/** A server in memory, on free ports, for one test or suite. */
export function startServer(options: ServerOptions = {}): Promise<StartedServer> {
  if (postgresUrl !== undefined) return startOverPostgres(postgresUrl, options);
  const where = options.location === undefined ? { inMemory: true } : {};
  return start({ ...where, ...options }, () => Promise.resolve());
}

/** A server on the default engine in a new directory, which is removed afterwards. */
export async function startDurableServer(options: ServerOptions = {}): Promise<StartedServer> {
  const location = await mkdtemp(join(tmpdir(), 'tabularium-test-'));
  return start({ ...options, location }, () => rm(location, { recursive: true, force: true }));
}

/** With a schema of its own. */
async function startOverPostgres(url: string, options: ServerOptions): Promise<StartedServer> {
  const location = await mkdtemp(join(tmpdir(), 'tabularium-test-'));
  const postgresSchema = `test ${location}`;
  const remove = async (): Promise<void> => {
    await dropSchema(url, postgresSchema);
    await rm(location, { recursive: true, force: true });
  };
  return start({ ...options, location, postgresUrl: url, postgresSchema }, remove);
}

async function start(options: ServerOptions, remove: () => Promise<void>): Promise<StartedServer> {
  const records: RequestRecord[] = [];
  const errors: unknown[] = [];
  const waiting = new Set<() => void>();
  const create = isMoving && options.inMemory === true ? createMovingServer : createServer;
  const server = await create({
    logger: {
      info: () => undefined,
      warn: () => undefined,
      error: (message, fields) => errors.push([message, fields]),
    },
    ...pageShapes(),
    ...options,
    observers: [
      (record) => {
        records.push(record);
        for (const check of waiting) check();
      },
      ...(options.observers ?? []),
    ],
  });
  return {
    server,
    location: options.location,
    records,
    errors,
    recorded: (count) =>
      new Promise((resolve) => {
        const check = () => {
          if (records.length < count) return;
          waiting.delete(check);
          resolve();
        };
        waiting.add(check);
        check();
      }),
    async [Symbol.asyncDispose]() {
      await server.close();
      await remove();
    },
  };
}
