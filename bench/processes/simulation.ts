/** A thread carries out its pieces of work one at a time, in order of arrival. */
interface Thread {
  readonly waiting: { readonly micros: number; readonly done: () => void }[];
  isBusy: boolean;
}

/**
 * A simulated machine with its own clock. A piece of work keeps its core until it is done; threads
 * that have work and no core wait in order of arrival. Waiting for a disk takes no core.
 */
export class Machine {
  nowMicros = 0;
  readonly #ready: Thread[] = [];
  readonly #events: { readonly atMicros: number; readonly what: () => void }[] = [];
  #freeCores: number;

  constructor(cores: number) {
    this.#freeCores = cores;
  }

  thread(): Thread {
    return { waiting: [], isBusy: false };
  }

  /** Queues work of a thread; `done` is called when it is done. */
  work(thread: Thread, micros: number, done: () => void): void {
    thread.waiting.push({ micros, done });
    if (thread.isBusy) return;
    thread.isBusy = true;
    this.#ready.push(thread);
    this.#dispatch();
  }

  after(micros: number, what: () => void): void {
    const event = { atMicros: this.nowMicros + micros, what };
    let at = this.#events.length;
    // Sorted, the next event last: there are few at a time.
    while (at > 0 && (this.#events[at - 1]?.atMicros ?? 0) <= event.atMicros) at -= 1;
    this.#events.splice(at, 0, event);
  }

  run(untilMicros: number): void {
    for (let next = this.#events.pop(); next !== undefined; next = this.#events.pop()) {
      if (next.atMicros > untilMicros) return;
      this.nowMicros = next.atMicros;
      next.what();
    }
  }

  #dispatch(): void {
    while (this.#freeCores > 0) {
      const thread = this.#ready.shift();
      const piece = thread?.waiting.shift();
      if (thread === undefined || piece === undefined) return;
      this.#freeCores -= 1;
      this.after(piece.micros, () => {
        this.#freeCores += 1;
        piece.done();
        if (thread.waiting.length > 0) this.#ready.push(thread);
        else thread.isBusy = false;
        this.#dispatch();
      });
    }
  }
}

/** Processor time and waits of an insert, in microseconds, as measured on two cores. */
export interface Costs {
  /** HTTP, signature and parsing of a request. */
  readonly request: number;
  /**
   * Checking a row, framing it for the journal and making it visible, in the process of the
   * journal.
   */
  readonly journal: number;
  /** Writing a row of the journal to the data file later, in key order, in another thread. */
  readonly apply: number;
  /** Writing a row to the data file at once, under its lock. */
  readonly commit: number;
  /** Sending or receiving a message between processes. */
  readonly message: number;
  /**
   * The wait for the disk: a group in the journal, a group in the data file, and each row of that.
   */
  readonly journalSync: number;
  readonly dataSync: number;
  readonly dataSyncRow: number;
  /** A read by the process that has the data before it, answer included. */
  readonly point: number;
  readonly range: number;
  /** The work of the load generator for a request. */
  readonly client: number;
}

export const measuredCosts: Costs = {
  request: 50,
  journal: 18,
  apply: 13,
  commit: 48,
  message: 15,
  journalSync: 120,
  dataSync: 600,
  dataSyncRow: 20,
  point: 34,
  range: 255,
  client: 20,
};

export const designs = [
  'one process, journal',
  'workers, data file',
  'workers, one writer',
] as const;
export type Design = (typeof designs)[number];

export interface Plan {
  readonly design: Design;
  readonly cores: number;
  readonly workers: number;
  readonly connections: number;
  readonly costs: Costs;
}

const simulatedMicros = 1_000_000;
const groupMax = 512;

/** The answers to give when a group of commits is durable. */
type Group = readonly (() => void)[];

/** Collects the rows that arrive while a group is being written; they are the next group. */
function grouped(carryOut: (group: Group, done: () => void) => void): (row: () => void) => void {
  let waiting: (() => void)[] = [];
  let isRunning = false;
  const next = (): void => {
    isRunning = waiting.length > 0;
    if (!isRunning) return;
    const group = waiting.splice(0, groupMax);
    carryOut(group, () => {
      for (const answer of group) answer();
      next();
    });
  };
  return (row) => {
    waiting = [...waiting, row];
    if (!isRunning) next();
  };
}

/** Queues the work of one request of a connection, and calls `answer` when it is done. */
type Serve = (connection: number, answer: () => void) => void;

/** Answers per second to connections that each wait for one before they ask again. */
function answersPerSecond(machine: Machine, { connections, costs }: Plan, serve: Serve): number {
  const client = machine.thread();
  let answered = 0;
  const ask = (connection: number): void => {
    serve(connection, () => {
      answered += 1;
      machine.work(client, costs.client, () => ask(connection));
    });
  };
  for (let connection = 0; connection < connections; connection += 1) ask(connection);
  machine.run(simulatedMicros);
  return (answered * 1e6) / simulatedMicros;
}

/** The threads that serve connections, and the one that has the journal. */
function threadsOf(machine: Machine, { design, workers }: Plan) {
  const first = machine.thread();
  if (design === 'one process, journal') return { writer: first, mainOf: () => first };
  const mains = Array.from({ length: workers }, () => machine.thread());
  const mainOf = (connection: number) => mains[connection % mains.length] ?? first;
  return { writer: first, mainOf };
}

export function insertsPerSecond(plan: Plan): number {
  const { design, cores, costs } = plan;
  const machine = new Machine(cores);
  const { writer, mainOf } = threadsOf(machine, plan);
  const applier = machine.thread();
  const byJournal = grouped((group, done) => {
    machine.work(writer, costs.journal * group.length, () => {
      machine.after(costs.journalSync, done);
      machine.work(applier, costs.apply * group.length, () => undefined);
    });
  });
  // All processes share one lock, so their groups are written one after another.
  const byDataFile = grouped((group, done) => {
    machine.work(applier, costs.commit * group.length, () => {
      machine.after(costs.dataSync + costs.dataSyncRow * group.length, done);
    });
  });
  return answersPerSecond(machine, plan, (connection, answer) => {
    const main = mainOf(connection);
    machine.work(main, costs.request, () => {
      if (design === 'one process, journal') byJournal(answer);
      else if (design === 'workers, data file') byDataFile(answer);
      else {
        const back = (): void => machine.work(main, costs.message, answer);
        machine.work(main, costs.message, () => {
          machine.work(writer, 2 * costs.message, () => byJournal(back));
        });
      }
    });
  });
}

/**
 * Where one process has the journal, each read of a worker asks it for what the data file lacks.
 */
export function readsPerSecond(kind: 'point' | 'range', plan: Plan): number {
  const { design, cores, costs } = plan;
  const machine = new Machine(cores);
  const { writer, mainOf } = threadsOf(machine, plan);
  return answersPerSecond(machine, plan, (connection, answer) => {
    const main = mainOf(connection);
    if (design !== 'workers, one writer') return machine.work(main, costs[kind], answer);
    return machine.work(main, costs.message, () => {
      machine.work(writer, 2 * costs.message, () => {
        machine.work(main, costs.message + costs[kind], answer);
      });
    });
  });
}
