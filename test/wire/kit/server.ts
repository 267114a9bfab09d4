import assert from 'node:assert/strict';
import { after } from 'node:test';
import {
  manualClock,
  type ManualClock,
  type ServerOptions,
  type TabulariumServer,
} from '../../../src/app/index.js';
import { startDurableServer, startServer } from '../../support/start-server.js';
import { WireClient } from './client.js';
import { QueueWireClient } from './queue-client.js';

export interface WireFixture {
  readonly server: TabulariumServer;
  readonly client: WireClient;
}

/**
 * A server and a client of it for the tests of a file; closed after the last of them, when nothing
 * unexpected may have been logged. Entities are kept in memory, or on disk when the engine is
 * `lmdb`; TABULARIUM_TEST_ENGINE says so for all files that leave it open.
 */
export async function startFixture(
  options: ServerOptions = {},
  engine = process.env['TABULARIUM_TEST_ENGINE'] ?? 'memory',
): Promise<WireFixture> {
  const started =
    engine === 'lmdb'
      ? await startDurableServer({ durability: 'relaxed', ...options })
      : await startServer(options);
  const client = WireClient.of(started.server);
  after(async () => {
    client.close();
    await started[Symbol.asyncDispose]();
    assert.deepEqual(started.errors, [], 'the server logged errors');
  });
  return { server: started.server, client };
}

export interface QueueFixture {
  readonly server: TabulariumServer;
  readonly queues: QueueWireClient;
  /** The server's only clock. It stands still until a test moves it; the client follows it. */
  readonly clock: ManualClock;
  /** Moves the clock. */
  readonly wait: (seconds: number) => void;
}

/** As `startFixture`, for queues, where the test decides what time it is. */
export async function startQueueFixture(options: ServerOptions = {}): Promise<QueueFixture> {
  const clock = manualClock(Date.UTC(2024, 2, 1, 12) * 1000);
  const { server } = await startFixture({ clock, ...options });
  const now = () => new Date(clock.nowMicros() / 1000);
  const queues = new QueueWireClient(server.queuePort, { now });
  after(() => queues.close());
  return { server, queues, clock, wait: (seconds) => clock.advanceMicros(seconds * 1_000_000) };
}
