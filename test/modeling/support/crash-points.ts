import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { RequestError } from '../../../src/modeling/index.js';
import { drawn, isLong } from '../../support/run-length.js';
import { wrappedMethods } from './wrapped-methods.js';

// Kills a pattern between any two of its requests, lets it recover, and checks what is left.
//
//   await crashEverywhere<World>({
//     prepare: () => newTablesWithOneEmployee(),          // fresh, not counted
//     run: async ({ current, archive }, doomed) =>        // what may be killed
//       moveEmployee(doomed.wrap(current), doomed.wrap(archive)),
//     restart: ({ clock }) => clock.advanceMicros(60e6),  // e.g. visibility timeouts pass
//     recover: async (world, doomed) => ...,              // the worker, `verify`, `rebuild`, …
//     check: async ({ current, archive }) => ...,         // throws when a promise is broken
//   });
//
// Every method call on what `wrap` returned is one request, so wrap what sends exactly one request
// a call: a TableGateway, a queue, blob or file port, or an `httpClient` given to an SDK client
// (each `sendRequest` is then one request, the SDK's own retries included). Whatever is not wrapped
// belongs to the test and survives. A method must not wait for the process, as one that takes a
// stream does: it would wait for ever after the kill.

/**
 * What happens at a request. `before`: the process is killed and the request is not sent. `after`:
 * the service applies the request, and the process is killed before the response arrives.
 * `unanswered`: the service applies the request, and the process gets a network error instead of
 * the response.
 */
export type Moment = 'before' | 'after' | 'unanswered';

export interface CrashPoint {
  /** Counted from 1, in the order in which requests are sent. */
  readonly request: number;
  readonly moment: Moment;
}

/** A process that is killed at one point. Afterwards it receives and sends nothing. */
export interface Doomed {
  /**
   * The same object with each method counted as a request. Methods must return promises. After the
   * kill no call ever settles, so that neither `finally` nor `catch` of the killed process runs.
   */
  wrap<T extends object>(port: T): T;
  /** Names of the methods called so far, in order. */
  readonly requests: readonly string[];
}

export interface CrashScenario<World> {
  /** Makes a fresh world before each run. */
  prepare(): Promise<World>;
  /**
   * The work that may be killed. It may reject only when a response was withheld (`unanswered`).
   */
  run(world: World, doomed: Doomed): Promise<unknown>;
  /** Changes that happen while no process runs, such as visibility timeouts that pass. */
  restart?(world: World): Promise<void> | void;
  /** Brings the world to its final state. Must not depend on anything that `run` kept in memory. */
  recover(world: World, doomed: Doomed): Promise<unknown>;
  /** Throws when a promise is broken. Also called after a run without a kill. */
  check(world: World): Promise<void>;
  /**
   * The moments to try at each request. By default all of them in the long form of tests. The short
   * form tries a single moment for each request, and of a long run only some of the requests; both
   * differ from run to run.
   */
  readonly moments?: readonly Moment[];
  /**
   * Also kill the recovery, at its first request, the next recovery at its second, and so on until
   * one completes, all in one world. Default false.
   */
  readonly crashRecovery?: boolean;
  /** How long a request may take that was sent before a kill. Default a minute. */
  readonly requestMsMax?: number;
}

export const allMoments: readonly Moment[] = Object.freeze(['before', 'after', 'unanswered']);

/** Roughly how many requests of one run the short form tries. */
const shortRequestsMax = 4;

const defaultRequestMsMax = 60_000;

/** More than any pattern sends. A run that sends more does not end. */
const requestsMax = 1000;

class DoomedProcess implements Doomed {
  readonly requests: string[] = [];
  readonly death: Promise<void>;
  readonly #point: CrashPoint | undefined;
  readonly #inFlight = new Map<Promise<unknown>, string>();
  #dead = false;
  #die: () => void = () => undefined;

  constructor(point: CrashPoint | undefined) {
    this.#point = point;
    this.death = new Promise((resolve) => {
      this.#die = resolve;
    });
  }

  wrap<T extends object>(port: T): T {
    return wrappedMethods(port, (name, send) =>
      // The check of a table is no request, and its reads are those of the table beneath.
      name === 'check' ? send() : this.#request(name, send),
    );
  }

  /** Waits until all requests that were sent before the kill are applied. */
  async settled(withinMs: number = defaultRequestMsMax): Promise<void> {
    const waited = new AbortController();
    const limit = pause(withinMs, false, { signal: waited.signal }).catch(() => true);
    const isSettled = await Promise.race([this.#applied(), limit]);
    waited.abort();
    const names = [...this.#inFlight.values()].join(' ');
    assert.ok(isSettled, `requests that wait for the process that was killed: ${names}`);
  }

  async #applied(): Promise<true> {
    while (this.#inFlight.size > 0) await Promise.allSettled(this.#inFlight.keys());
    return true;
  }

  /** True when the run has come to the point. */
  get reached(): boolean {
    return this.#point !== undefined && this.requests.length >= this.#point.request;
  }

  async #request(name: string, send: () => unknown): Promise<unknown> {
    if (this.#dead) return forever();
    this.requests.push(name);
    const moment = this.requests.length === this.#point?.request ? this.#point.moment : undefined;
    if (moment === 'before') return this.#kill();
    const sent = Promise.resolve(send());
    this.#inFlight.set(sent, name);
    const [answer] = await Promise.allSettled([sent]);
    this.#inFlight.delete(sent);
    if (moment === 'after') return this.#kill();
    if (this.#dead) return forever();
    if (moment === 'unanswered') throw new LostAnswerError(name);
    return sent.then(() => (answer.status === 'fulfilled' ? answer.value : undefined));
  }

  #kill(): Promise<never> {
    this.#dead = true;
    this.#die();
    return forever();
  }
}

/** The error of a gateway, or an SDK, for a connection that broke before the response arrived. */
export class LostAnswerError extends RequestError {
  override readonly name = 'LostAnswerError';

  constructor(request: string) {
    const failure = { status: 0, code: 'ECONNRESET' };
    super(`connection reset before the answer to ${request}`, failure);
  }
}

function forever(): Promise<never> {
  return new Promise(() => undefined);
}

/**
 * Runs the scenario once without a fault, and once for each request and moment of `moments`, until
 * a run ends before its point. Restarts, recovers and checks after each run. An error names the
 * point. Returns the requests of the run without a fault, so that a test can also check how many
 * there are.
 */
export async function crashEverywhere<World>(
  scenario: CrashScenario<World>,
): Promise<readonly string[]> {
  const { requests } = await runWithFault(scenario, undefined);
  const step = isLong ? 1 : Math.ceil(requests.length / shortRequestsMax);
  for (const momentOf of momentsOf(scenario)) {
    const first = 1 + drawn(step);
    for (let request = first, reached = true; reached; request += step) {
      assert.ok(request <= requestsMax, `the run makes more than ${requestsMax} requests`);
      reached = (await runWithFault(scenario, { request, moment: momentOf(request) })).reached;
    }
  }
  return requests;
}

/** For each pass over the requests, the moment to try at a request. */
function momentsOf({
  moments,
}: Pick<CrashScenario<unknown>, 'moments'>): readonly ((request: number) => Moment)[] {
  if (moments !== undefined || isLong) return (moments ?? allMoments).map((moment) => () => moment);
  const first = drawn(allMoments.length);
  return [(request) => allMoments[(first + request) % allMoments.length] ?? 'before'];
}

async function runWithFault<World>(
  scenario: CrashScenario<World>,
  point: CrashPoint | undefined,
): Promise<DoomedProcess> {
  const world = await scenario.prepare();
  const doomed = new DoomedProcess(point);
  try {
    await runUntilDeath(scenario, doomed, () => scenario.run(world, doomed));
    await scenario.restart?.(world);
    await recover(scenario, world);
    await scenario.check(world);
  } catch (error) {
    throw new Error(`${describePoint(point)}, requests so far: ${doomed.requests.join(' ')}`, {
      cause: error,
    });
  }
  return doomed;
}

async function runUntilDeath(
  { requestMsMax }: Pick<CrashScenario<unknown>, 'requestMsMax'>,
  doomed: DoomedProcess,
  run: () => Promise<unknown>,
): Promise<boolean> {
  const life = run().catch((error: unknown) => {
    if (!(doomed.reached && isLostAnswer(error))) throw error;
  });
  const survived = await Promise.race([life.then(() => true), doomed.death.then(() => false)]);
  await doomed.settled(requestMsMax);
  return survived;
}

async function recover<World>(scenario: CrashScenario<World>, world: World): Promise<void> {
  if (scenario.crashRecovery === true) {
    for (let request = 1, survived = false; !survived; request += 1) {
      assert.ok(request <= requestsMax, 'the recovery does not end');
      const doomed = new DoomedProcess({ request, moment: request % 2 === 0 ? 'before' : 'after' });
      survived = await runUntilDeath(scenario, doomed, () => scenario.recover(world, doomed));
      await scenario.restart?.(world);
    }
    return;
  }
  await scenario.recover(world, new DoomedProcess(undefined));
}

/** True for the error of a withheld response, or an error caused by it. */
function isLostAnswer(error: unknown): boolean {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 10; depth += 1) {
    if (cause instanceof LostAnswerError) return true;
    cause = cause.cause;
  }
  return false;
}

function describePoint(point: CrashPoint | undefined): string {
  return point === undefined
    ? 'without a fault'
    : `fault at request ${point.request} (${point.moment})`;
}
