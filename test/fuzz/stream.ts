import assert from 'node:assert/strict';
import type { ServerProcess } from '../support/crash-server.js';
import { SimRandom } from '../support/sim-random.js';
import { WireConnection } from '../wire/kit/connection.js';
import { faultOf } from './answers.js';
import { randomCredential, type Credential } from './credentials.js';
import { secretElsewhere, secretHere } from './guarded.js';
import { fuzzRequest } from './mutations.js';
import { rawFault, mutatedBytes } from './raw-bytes.js';
import { bytesOf } from './request-form.js';
import type { Reach } from './reach.js';
import type { FuzzRequest } from './requests.js';
import type { Run } from './run-settings.js';
import type { Tokens } from './tokens.js';

const services = ['table', 'queue'] as const;
const rawShare = 0.05;
const enoughToTell = 500;

export interface Stream {
  readonly server: ServerProcess;
  readonly tokens: Tokens;
  readonly run: Run;
  readonly tally: Tally;
  /** Added to the seed. */
  readonly stream: number;
  readonly count: number;
}

interface Prepared {
  readonly request: FuzzRequest;
  readonly credential: Credential;
  readonly bytes: Buffer;
}

/** Counts the statuses of the responses to each kind of credential. */
export class Tally {
  readonly #counts = new Map<string, Map<number, number>>();

  add(kind: string, status: number): void {
    const counts = this.#counts.get(kind) ?? new Map<number, number>();
    counts.set(status, (counts.get(status) ?? 0) + 1);
    this.#counts.set(kind, counts);
  }

  lines(): readonly string[] {
    return [...this.#counts].map(([kind, counts]) => {
      const shares = [...counts].sort(([left], [right]) => left - right);
      return `${kind}: ${shares.map(([status, count]) => `${status} × ${count}`).join(', ')}`;
    });
  }

  /**
   * Checks that of each kind, if there were enough, some requests passed parsing and authorisation.
   */
  assertMeaningful(): void {
    for (const [kind, counts] of this.#counts) {
      const all = [...counts.values()].reduce((sum, count) => sum + count, 0);
      const accepted = [...counts].reduce((sum, [status, n]) => sum + (status < 300 ? n : 0), 0);
      if (kind === 'nobody' || all < enoughToTell) continue;
      assert.ok(accepted > all / 100, `${kind}: ${accepted} of ${all}`);
    }
  }
}

/** Sends changed requests in sequence; throws with the first that has a wrong response. */
export async function runStream(given: Stream): Promise<void> {
  const { server, tokens, run, tally, stream, count } = given;
  const random = new SimRandom(run.seed + stream);
  const clients = { table: server.client(), queue: server.queueClient() };
  const ports = { table: server.port, queue: server.queuePort };
  const connections = {
    table: new WireConnection(ports.table),
    queue: new WireConnection(ports.queue),
  };
  const prepared = (service: FuzzRequest['service']): Prepared => {
    const credential = randomCredential(random, service, tokens);
    const request = fuzzRequest(random, service, credential);
    return { request, credential, bytes: bytesOf(random, clients[service], request, credential) };
  };
  try {
    for (let index = 1; index <= count; index += 1) {
      const service = random.pick(services);
      const failed = random.chance(rawShare)
        ? await sendRaw(random, ports[service], [prepared(service), prepared(service)])
        : await send(connections[service], prepared(service), tally);
      if (failed === undefined) continue;
      const shown = failed.bytes.toString('latin1').slice(0, 3000);
      const at = `request ${index} of stream ${stream}, ${failed.kind}: ${failed.fault}`;
      throw new Error(`Repeat with ${run.repeat}\n${at}\n${shown}`);
    }
  } finally {
    connections.table.close();
    connections.queue.close();
  }
}

interface Failed {
  readonly fault: string;
  readonly bytes: Buffer;
  readonly kind: string;
}

async function send(
  connection: WireConnection,
  { request, credential: { kind, reach }, bytes }: Prepared,
  tally: Tally,
): Promise<Failed | undefined> {
  try {
    const response = await connection.exchange(bytes, request.method === 'HEAD');
    tally.add(kind, response.status);
    const fault = faultOf(request, response) ?? leakIn(`${response.head}\n${response.text}`, reach);
    return fault === undefined ? undefined : { fault, bytes, kind };
  } catch (error) {
    return { fault: String(error), bytes, kind };
  }
}

async function sendRaw(
  random: SimRandom,
  port: number,
  made: readonly Prepared[],
): Promise<Failed | undefined> {
  const all = made.map((each) => each.bytes);
  const bytes = mutatedBytes(random, all);
  const { fault, received } = await rawFault(port, bytes);
  const sees = made.some(({ credential }) => credential.reach !== 'none');
  const found = fault ?? leakIn(received, sees ? 'see' : 'none');
  return found === undefined ? undefined : { fault: found, bytes, kind: 'raw bytes' };
}

/** Guarded text in a response to a client that must not see it. */
function leakIn(answer: string, reach: Reach): string | undefined {
  const secrets = reach === 'none' ? [secretElsewhere, secretHere] : [secretElsewhere];
  const leak = secrets.find((secret) => answer.toLowerCase().includes(secret));
  return leak === undefined ? undefined : `${leak} is in the answer: ${answer.slice(0, 2000)}`;
}
