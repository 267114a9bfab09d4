import { setTimeout as pause } from 'node:timers/promises';
import { Finding, within } from '../chaos/finding.js';
import { World } from '../chaos/world.js';
import { mainTable } from '../crash/load.js';
import { SimRandom } from '../support/sim-random.js';
import { WireQueues } from '../support/wire-queues.js';
import { developmentAccount as account } from '../wire/kit/signature.js';
import { askCommit, askLog, makeHistoryBlobs } from './blob-client.js';
import { drawCommit, drawLog } from './blob-draws.js';
import {
  commitModel,
  logModel,
  type CommitInput,
  type CommitOutput,
  type LogInput,
  type LogOutput,
} from './blob-models.js';
import { check, type Model } from './checker.js';
import { History } from './history.js';
import { drawPartitionInput, PartitionClient } from './partition-client.js';
import {
  partitionModel,
  type PartitionInput,
  type PartitionOutput,
  type Partition,
} from './partition-model.js';
import { HistoryQueueClient, type Told } from './queue-client.js';
import { queueModel, type QueueInput, type QueueOutput } from './queue-model.js';

const clientsOfObject = 4;
const partitions = 3;
const queues = 2;
const phases = 3;
/** For one client in one phase: histories with more requests take long to check. */
const requestsMax = 20;

export interface Checked {
  readonly histories: number;
  readonly operations: number;
  /** Operations without a response. */
  readonly unanswered: number;
  readonly kills: number;
}

type PartitionHistory = History<PartitionInput, PartitionOutput>;
type LogHistory = History<LogInput, LogOutput>;
type CommitHistory = History<CommitInput, CommitOutput>;
interface QueueHistory {
  readonly history: History<QueueInput, QueueOutput>;
  readonly told: Told[];
}

/** How a phase ends. */
type Trouble = 'kill workers' | 'kill primary' | 'stop' | 'nothing';

/**
 * Clients use a few partitions, queues and blobs of a server of one or several processes, some or
 * all of which are killed; the next start uses another mode. One order must then explain all
 * responses of each partition, queue and blob. Throws `Finding` when there is none.
 */
export class LinearizabilityRound {
  readonly #random: SimRandom;
  readonly #partitions: readonly PartitionHistory[];
  readonly #queues: readonly QueueHistory[];
  readonly #log: LogHistory = new History();
  readonly #commits: CommitHistory = new History();
  #firstEtag = '';
  #serial = 0;
  #kills = 0;

  constructor(seed: number) {
    this.#random = new SimRandom(seed);
    this.#partitions = Array.from({ length: partitions }, () => new History());
    this.#queues = Array.from({ length: queues }, () => ({ history: new History(), told: [] }));
  }

  /**
   * `prepare`: may put a proxy between the clients and the server. That ends with the server, so
   * one phase without a kill is all there is then.
   */
  async run(prepare?: (world: World) => Promise<AsyncDisposable>): Promise<Checked> {
    const random = this.#random;
    await using world = await World.make(random, {
      workers: random.chance(0.5) ? 1 : severalOf(random),
      journalShare: 1,
    });
    await this.#makeQueues(world);
    await this.#makeBlobs(world);
    await using _ = await prepare?.(world);
    if (prepare === undefined) await this.#troubledPhases(world);
    else await this.#phase(world, 'nothing');
    await this.#drain(world);
    return this.#check();
  }

  async #troubledPhases(world: World): Promise<void> {
    for (let phase = 1; phase <= phases; phase += 1) {
      // The later phases use another mode than the first.
      const trouble: Trouble = this.#random.weighted({
        'kill workers': world.workers === 1 || phase === 1 ? 0 : 4,
        'kill primary': 3,
        stop: 1,
        nothing: phase === phases ? 100 : phase === 1 ? 0 : 1,
      });
      await this.#phase(world, trouble);
    }
  }

  /** Without concurrent requests a queue returns every visible message. */
  async #drain(world: World): Promise<void> {
    const wire = world.queueClient();
    for (const [index, { history, told }] of this.#queues.entries()) {
      const client = new HistoryQueueClient(
        new WireQueues({ [account]: wire }),
        queueName(index),
        told,
      );
      const input = { kind: 'get', alone: true } as const;
      while ((await history.record(input, () => client.ask(input))).kind === 'held');
    }
    wire.close();
  }

  async #makeQueues(world: World): Promise<void> {
    const client = world.queueClient();
    const wire = new WireQueues({ [account]: client });
    for (const index of this.#queues.keys()) await wire.createQueue(account, queueName(index), []);
    client.close();
  }

  async #makeBlobs(world: World): Promise<void> {
    const client = world.blobClient();
    this.#firstEtag = await makeHistoryBlobs(client);
    client.close();
  }

  async #phase(world: World, trouble: Trouble): Promise<void> {
    let isOver = false;
    void world.server.exit.then(() => (isOver = true));
    const over = () => isOver;
    const done = Promise.all([
      ...this.#partitions.flatMap((history, index) =>
        clients(() => this.#usePartition(world, history, `p${index}`, over)),
      ),
      ...this.#queues.flatMap((queue, index) =>
        clients(() => this.#useQueue(world, queue, queueName(index), over)),
      ),
      ...clients(() => this.#useLog(world, over)),
      ...clients(() => this.#useCommits(world, over)),
    ]);
    done.catch(() => undefined);
    if (trouble === 'kill workers') await this.#killWorkers(world);
    if (trouble === 'kill primary' || trouble === 'stop') {
      await pause(this.#random.between(10, 300));
      if (trouble === 'stop') await world.stop();
      else await world.kill();
      this.#kills += 1;
    }
    await within('clients get their answers', done);
    if (trouble === 'kill primary' || trouble === 'stop') {
      world.workers = world.workers === 1 ? severalOf(this.#random) : 1;
      await world.start();
    }
    await world.becomesHealthy();
  }

  async #killWorkers(world: World): Promise<void> {
    const kills = this.#random.between(1, 2);
    for (let kill = 0; kill < kills; kill += 1) {
      const pid = this.#random.pick(await world.workerPids());
      await pause(this.#random.between(10, 150));
      killIfThere(pid);
      this.#kills += 1;
    }
  }

  async #usePartition(
    world: World,
    history: PartitionHistory,
    partition: string,
    isOver: () => boolean,
  ): Promise<void> {
    const wire = world.tableClient();
    const client = new PartitionClient(wire, mainTable, partition);
    const seen = new Map<string, string>();
    await this.#repeat(isOver, async () => {
      const input = drawPartitionInput(this.#random, seen, () => ++this.#serial);
      const output = await history.record(input, () => client.ask(input));
      if (output.kind !== 'rows') return;
      for (const [row, { etag }] of Object.entries(output.rows)) seen.set(row, etag);
    });
    wire.close();
  }

  async #useQueue(
    world: World,
    { history, told }: QueueHistory,
    queue: string,
    isOver: () => boolean,
  ): Promise<void> {
    const wire = world.queueClient();
    const client = new HistoryQueueClient(new WireQueues({ [account]: wire }), queue, told);
    await this.#repeat(isOver, async () => {
      const input = client.draw(this.#random, () => ++this.#serial);
      await history.record(input, () => client.ask(input));
    });
    wire.close();
  }

  async #useLog(world: World, isOver: () => boolean): Promise<void> {
    const wire = world.blobClient();
    let known: LogOutput | undefined;
    await this.#repeat(isOver, async () => {
      const input = drawLog(this.#random, known);
      known = await this.#log.record(input, () => askLog(wire, input));
    });
    wire.close();
  }

  async #useCommits(world: World, isOver: () => boolean): Promise<void> {
    const wire = world.blobClient();
    let known: CommitOutput | undefined;
    await this.#repeat(isOver, async () => {
      const input = drawCommit(this.#random, known, this.#firstEtag);
      known = await this.#commits.record(input, () => askCommit(wire, input));
    });
    wire.close();
  }

  /** The requests of one client in one phase. */
  async #repeat(isOver: () => boolean, ask: () => Promise<void>): Promise<void> {
    for (let request = 0; request < requestsMax && !isOver(); request += 1) {
      if (!(await isAnswered(ask))) break;
      await pause(this.#random.int(15));
    }
  }

  #check(): Checked {
    for (const [index, history] of this.#partitions.entries()) {
      assertLinearizable<Partition, PartitionInput, PartitionOutput>(
        `p${index}`,
        partitionModel,
        history,
      );
    }
    for (const [index, { history }] of this.#queues.entries()) {
      assertLinearizable(queueName(index), queueModel(history.operations), history);
    }
    assertLinearizable('log', logModel, this.#log);
    const committed = commitModel({ block: 'x', etag: this.#firstEtag });
    assertLinearizable('commits', committed, this.#commits);
    const all = [
      ...this.#log.operations.map((each) => each.respondedAt),
      ...this.#commits.operations.map((each) => each.respondedAt),
      ...this.#partitions.flatMap(({ operations }) => operations.map((each) => each.respondedAt)),
      ...this.#queues.flatMap(({ history }) => history.operations.map((each) => each.respondedAt)),
    ];
    return {
      histories: partitions + queues + 2,
      operations: all.length,
      unanswered: all.filter((respondedAt) => respondedAt === Infinity).length,
      kills: this.#kills,
    };
  }
}

function severalOf(random: SimRandom): number {
  return random.between(2, 4);
}

/** A worker may have ended together with one that was killed before. */
function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}

function queueName(index: number): string {
  return `history${index}`;
}

function clients(make: () => Promise<void>): Promise<void>[] {
  return Array.from({ length: clientsOfObject }, make);
}

/**
 * True when a response arrived. A request on a broken connection has none in the history, and its
 * client sends no more in this phase: many such operations make a history long to check.
 */
async function isAnswered(request: () => Promise<unknown>): Promise<boolean> {
  try {
    await request();
    return true;
  } catch (error) {
    const broken = /closed without a whole answer|ECONN|EPIPE/;
    if (!(error instanceof Error) || !broken.test(error.message)) throw error;
    return false;
  }
}

function assertLinearizable<State, Input, Output>(
  name: string,
  model: Model<State, Input, Output>,
  { operations }: History<Input, Output>,
): void {
  const decision = check(model, operations);
  if (decision.kind === 'linearizable') return;
  if (decision.kind === 'undecided') throw new Error(`${name}: too long a history to check`);
  const { reached, stuck } = decision;
  const lines = operations.map((operation) => JSON.stringify(operation));
  throw new Finding(
    [
      `${name} is not linearizable: ${reached} of ${operations.length} operations explained`,
      ...stuck,
      'all of it:',
      ...lines,
    ].join('\n'),
  );
}
