import { manualClock } from '../../src/base/clock.js';
import { systemRandomness } from '../../src/base/randomness.js';
import { HeldMemory } from '../../src/http/pipeline/held-memory.js';
import { defaultLimits, type HttpLimits } from '../../src/http/pipeline/limits.js';
import type { Interceptor } from '../../src/http/pipeline/interceptor.js';
import type { TlsIdentity } from '../../src/http/tls/tls-acceptor.js';
import { silentLogger } from '../../src/http/exchange/logger.js';
import type { Exchange } from '../../src/http/exchange/exchange.js';
import type { RequestRecord } from '../../src/http/exchange/record.js';
import { HttpServer } from '../../src/http/pipeline/server.js';
import type { HttpService, Operation } from '../../src/http/exchange/service.js';
import { ApiVersionPolicy } from '../../src/http/pipeline/api-version-policy.js';
import type { ReadWriteLock } from '../../src/base/async/read-write-lock.js';
import {
  developmentAccount,
  makeAccountDirectory,
  type AccountDirectory,
} from '../../src/services/accounts/directory.js';
import { manualTimers, type ManualTimers } from './manual-timers.js';

/** A server of a service with one operation, which the test supplies. */
export interface EchoServer extends AsyncDisposable {
  readonly server: HttpServer;
  readonly port: number;
  readonly records: RequestRecord[];
  readonly errors: string[];
  readonly warnings: string[];
  readonly timers: ManualTimers;
  readonly memory: HeldMemory;
  readonly clock: ReturnType<typeof manualClock>;
}

interface EchoService {
  readonly bodyBytesMax?: number;
  readonly timeLimits?: number;
  readonly onRoute?: (exchange: Exchange) => void;
}

function serviceOf(
  run: () => Promise<string>,
  { bodyBytesMax = 1000, timeLimits = 1, onRoute = () => undefined }: EchoService,
): HttpService {
  const operation: Operation<unknown, unknown, string> = {
    access: { kind: 'granted', scope: 'object', permissions: ['read'], needs: 'all' },
    bodyBytesMax,
    timeLimits,
    parse: () => undefined,
    run,
    render: (text) => ({ status: 200, headers: [], body: Buffer.from(text) }),
  };
  return {
    name: 'table',
    signatures: {
      addressOf: () => undefined,
      storedPolicies: () => Promise.resolve([]),
    },
    verifiesChecksums: false,
    corsRules: { read: () => Promise.resolve([]), recent: () => [] },
    preflight: (exchange) => ({ name: 'Preflight', operation, request: exchange }),
    requestOf: (exchange) => exchange,
    route: (exchange: Exchange) => {
      onRoute(exchange);
      return { name: 'Echo', operation };
    },
    renderError: (error) => ({
      status: error.status,
      headers: [],
      body: Buffer.from(error.code),
    }),
  };
}

/** The test supplies clock and timers; dates of signatures are not checked. */
export async function startEcho(
  run: () => Promise<string>,
  more: {
    readonly limits?: Partial<HttpLimits>;
    readonly observer?: () => void;
    readonly service?: Partial<HttpService>;
    readonly lock?: ReadWriteLock;
    readonly tls?: TlsIdentity;
    readonly accounts?: AccountDirectory;
    readonly interceptors?: readonly Interceptor[];
  } & EchoService = {},
): Promise<EchoServer> {
  const records: RequestRecord[] = [];
  const [errors, warnings]: [string[], string[]] = [[], []];
  const clock = manualClock();
  const timers = manualTimers();
  const memory = new HeldMemory({ clock, logger: silentLogger });
  const server = new HttpServer({
    service: { ...serviceOf(run, more), ...more.service },
    accounts: more.accounts ?? makeAccountDirectory([developmentAccount]),
    endpoints: [],
    observers: [() => more.observer?.(), (record) => records.push(record)],
    logger: {
      info: () => undefined,
      warn: (message) => warnings.push(message),
      error: (message) => errors.push(message),
    },
    limits: { ...defaultLimits, ...more.limits },
    versions: new ApiVersionPolicy({ strict: false, logger: silentLogger }),
    randomness: systemRandomness,
    checkClockSkew: false,
    clock,
    timers,
    memory,
    ...(more.lock === undefined ? {} : { lock: more.lock }),
    tls: more.tls,
    interceptors: more.interceptors ?? [],
  });
  const port = await server.listen('127.0.0.1', 0);
  const close = () => server.close();
  const parts = { server, port, records, errors, warnings, timers, clock, memory };
  return { ...parts, [Symbol.asyncDispose]: close };
}
