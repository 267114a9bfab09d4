import { after } from 'node:test';
import type { ServerOptions, TabulariumServer } from '../../src/app/index.js';
import { WireClient } from '../wire/kit/client.js';
import { QueueWireClient } from '../wire/kit/queue-client.js';
import type { WireResponse } from '../wire/kit/response.js';
import type { WireRequest } from '../wire/kit/signing-client.js';
import { startServer } from './start-server.js';

/** What both services have in common. */
export interface AnyService {
  readonly name: 'tables' | 'queues';
  /** Sends a request, by default one for the list of tables or queues. */
  send(request: WireRequest): Promise<WireResponse>;
  bytes(request: WireRequest): Buffer;
  readonly port: number;
  /** A request with a body that creates a new table or queue. */
  write(): Promise<WireRequest>;
}

/** A server and its clients, for the probes of the compatibility page. */
export interface World {
  readonly server: TabulariumServer;
  readonly tables: WireClient;
  readonly queues: QueueWireClient;
  readonly services: readonly AnyService[];
  /** A table with the entity (p, 1), which has the property n = 1. */
  readonly table: string;
  /** A queue with one visible message. */
  readonly queue: string;
}

export const allowedOrigin = 'http://a.example';

/** One rule for one origin, valid for both services. */
export const corsRules =
  '<StorageServiceProperties><Cors><CorsRule>' +
  `<AllowedOrigins>${allowedOrigin}</AllowedOrigins><AllowedMethods>GET,PUT</AllowedMethods>` +
  '<AllowedHeaders>x-ms-*</AllowedHeaders><ExposedHeaders>x-ms-*</ExposedHeaders>' +
  '<MaxAgeInSeconds>60</MaxAgeInSeconds></CorsRule></Cors></StorageServiceProperties>';

const properties = '/?restype=service&comp=properties';

/** The server is closed after the last test of the file. */
export async function startWorld(options: ServerOptions = {}): Promise<World> {
  const started = await startServer(options);
  const { server } = started;
  const tables = WireClient.of(server);
  const queues = QueueWireClient.of(server);
  after(async () => {
    tables.close();
    queues.close();
    await started[Symbol.asyncDispose]();
  });
  const table = await tables.newTable();
  await tables.put(table, { PartitionKey: 'p', RowKey: '1', n: 1 });
  const queue = await queues.newQueue();
  await queues.put(queue, 'text');
  for (const client of [tables, queues]) {
    const { status } = await client.send({ method: 'PUT', path: properties, body: corsRules });
    if (status !== 202) throw new Error(`the rules about origins were not taken: ${status}`);
  }
  let writes = 0;
  const services: readonly AnyService[] = [
    {
      name: 'tables',
      port: tables.port,
      send: (request) => tables.send(request),
      bytes: (request) => tables.bytes(request),
      write: () => {
        writes += 1;
        const body = JSON.stringify({ PartitionKey: 'w', RowKey: `${writes}` });
        return Promise.resolve({ method: 'POST', path: `/${table}`, body });
      },
    },
    {
      name: 'queues',
      port: queues.port,
      send: (request) => queues.send(request),
      bytes: (request) => queues.bytes(request),
      write: async () => {
        const path = `/${await queues.newQueue('written')}/messages`;
        const body = '<QueueMessage><MessageText>text</MessageText></QueueMessage>';
        return { method: 'POST', path, body };
      },
    },
  ];
  return { server, tables, queues, services, table, queue };
}
