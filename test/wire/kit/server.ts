import assert from 'node:assert/strict';
import { after, type TestContext } from 'node:test';
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

type Engine = string | undefined;

/**
 * A server and a client for the tests of a file; closed after the last of them, when no unexpected
 * error may have been logged. The engine is in memory or `lmdb`; TABULARIUM_TEST_ENGINE sets it for
 * files that do not. Only for the outermost level of a file; in a test: `startFixtureOf`.
 */
export function startFixture(options?: ServerOptions, engine?: Engine): Promise<WireFixture> {
  return startClosedBy(after, options, engine);
}

/** As `startFixture`, for one test. Where files share a process, `after` knows no test. */
export function startFixtureOf(t: TestContext, options?: ServerOptions): Promise<WireFixture> {
  return startClosedBy((close) => t.after(close), options);
}

async function startClosedBy(
  onEnd: (close: () => Promise<void>) => void,
  options: ServerOptions = {},
  engine: Engine = process.env['TABULARIUM_TEST_ENGINE'] ?? 'memory',
): Promise<WireFixture> {
  const started =
    engine === 'lmdb'
      ? await startDurableServer({ durability: 'relaxed', ...options })
      : await startServer(options);
  const client = WireClient.of(started.server);
  onEnd(async () => {
    client.close();
    await started[Symbol.asyncDispose]();
    assert.deepEqual(started.errors, [], 'the server logged errors');
  });
  return { server: started.server, client };
}

export interface QueueFixture {
  readonly server: TabulariumServer;
  readonly queues: QueueWireClient;
  /** The only clock of the server, and of the client. It stands still until a test advances it. */
  readonly clock: ManualClock;
  /** Advances the clock. */
  readonly wait: (seconds: number) => void;
}

/** As `startFixture`, for queues and with a clock of the test. */
export async function startQueueFixture(options: ServerOptions = {}): Promise<QueueFixture> {
  const clock = manualClock(Date.UTC(2024, 2, 1, 12) * 1000);
  const { server } = await startFixture({ clock, ...options });
  const now = () => new Date(clock.nowMicros() / 1000);
  const queues = new QueueWireClient(server.queuePort, { now });
  after(() => queues.close());
  return { server, queues, clock, wait: (seconds) => clock.advanceMicros(seconds * 1_000_000) };
}
