import { TableClient, TableServiceClient } from '@azure/data-tables';
import { openTable, type RequestReport, type TableGateway } from '../../../src/modeling/index.js';
import type { ServerOptions } from '../../../src/app/index.js';
import { systemTimers, type Timers } from '../../../src/base/async/timers.js';
import { startServer } from '../../support/start-server.js';

/** A new table and the requests that were sent to it. */
export interface ObservedTable {
  readonly gateway: TableGateway;
  readonly client: TableClient;
  /** The requests so far. */
  readonly reports: readonly RequestReport[];
  /** The kinds of the requests since the last call, in order. */
  readonly takeKinds: () => readonly RequestReport['kind'][];
}

export interface ObservedTables extends AsyncDisposable {
  newTable(): Promise<ObservedTable>;
  /** A gateway that rejects every request: for calls that must send none. */
  readonly gatewayOfNothing: TableGateway;
  /** A client of a table that may not exist. */
  clientOf(name: string): TableClient;
  readonly service: TableServiceClient;
  /** Timers that fire at once. */
  readonly hurriedTimers: Timers;
  /** A connection string of the server. */
  readonly connection: string;
}

/** A new server, and tables in it whose clients do not retry. */
export async function startTables(settings: ServerOptions = {}): Promise<ObservedTables> {
  // Clients that do not retry would fail when a busy machine leaves a connection idle for a minute.
  const limits = { keepAliveTimeoutMs: 3_600_000, ...settings.limits };
  const started = await startServer({ ...settings, limits });
  const connection = started.server.connectionString();
  const options = { allowInsecureConnection: true, retryOptions: { maxRetries: 0 } };
  const clientOf = (name: string) => TableClient.fromConnectionString(connection, name, options);
  let tables = 0;
  return {
    gatewayOfNothing: {
      table: 'nothing',
      get: refuse,
      write: refuse,
      transact: refuse,
      page: refuse,
    },
    hurriedTimers: {
      start: (_delayMs, callback, argument) => systemTimers.start(0, callback, argument),
    },
    clientOf,
    connection,
    service: TableServiceClient.fromConnectionString(connection, options),
    async newTable() {
      tables += 1;
      const client = clientOf(`table${tables}`);
      await client.createTable();
      return observe(client);
    },
    [Symbol.asyncDispose]: () => started[Symbol.asyncDispose](),
  };
}

function refuse(): Promise<never> {
  return Promise.reject(new Error('nothing may be sent'));
}

function observe(client: TableClient): ObservedTable {
  const reports: RequestReport[] = [];
  let taken = 0;
  return {
    client,
    reports,
    gateway: openTable(client, { observer: (report) => reports.push(report) }),
    takeKinds: () => {
      const kinds = reports.slice(taken).map(({ kind }) => kind);
      taken = reports.length;
      return kinds;
    },
  };
}
