// Loaded into a server before its own code (`--import`): on request it profiles every thread of the
// process and writes the profiles.
import { writeFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { BroadcastChannel, isMainThread, threadId } from 'node:worker_threads';
import {
  isProfileRequest,
  type ProfileAnswer,
  type ProfileRequest,
  type WrittenProfile,
} from './profile-request.js';

/** Between two looks at the stack. */
const samplingMicros = 250;
/** A thread that is busy answers after its present call. */
const threadMsMax = 60_000;

/** From the main thread to the others. */
type ThreadRequest = { readonly kind: 'start' } | { readonly kind: 'stop'; readonly path: string };

/** From another thread: it has started, it ends, or it has carried out a request. */
type ThreadAnswer =
  | { readonly kind: 'loaded' | 'ended' | 'started'; readonly thread: number }
  | { readonly kind: 'stopped'; readonly thread: number; readonly written: WrittenProfile };

const session = new Session();
session.connect();
// A message to a channel reaches every thread, so answers have a channel that only the main thread
// reads.
const requests = new BroadcastChannel('bench profile requests');
const answers = new BroadcastChannel('bench profile answers');
for (const channel of [requests, answers]) channel.unref();

async function start(): Promise<void> {
  await session.post('Profiler.enable');
  await session.post('Profiler.setSamplingInterval', { interval: samplingMicros });
  await session.post('Profiler.start');
}

async function stop(thread: string, file: string): Promise<WrittenProfile> {
  const { profile } = await session.post('Profiler.stop');
  writeFileSync(file, JSON.stringify(profile));
  return { thread, file };
}

async function answerOfThread(request: ThreadRequest): Promise<ThreadAnswer> {
  if (request.kind === 'start') {
    await start();
    return { kind: 'started', thread: threadId };
  }
  const file = `${request.path}.thread-${threadId}.cpuprofile`;
  return {
    kind: 'stopped',
    thread: threadId,
    written: await stop(`thread ${threadId}`, file),
  };
}

/** The other threads of the process, for its main thread. */
class OtherThreads {
  readonly #known = new Set<number>();
  readonly #profiling = new Set<number>();
  #onAnswer: (answer: ThreadAnswer) => void = () => undefined;

  constructor() {
    listen(answers, (data) => {
      const answer = data as ThreadAnswer;
      if (answer.kind === 'loaded') {
        this.#known.add(answer.thread);
        return;
      }
      if (answer.kind === 'ended') {
        this.#known.delete(answer.thread);
        this.#profiling.delete(answer.thread);
      }
      this.#onAnswer(answer);
    });
  }

  async start(): Promise<void> {
    for (const { kind, thread } of await this.#ask(this.#known, { kind: 'start' })) {
      if (kind === 'started') this.#profiling.add(thread);
    }
  }

  /** In the order of their numbers. Those that began later have no profile. */
  async stop(path: string): Promise<readonly WrittenProfile[]> {
    const given = await this.#ask(this.#profiling, { kind: 'stop', path });
    this.#profiling.clear();
    return given
      .toSorted((left, right) => left.thread - right.thread)
      .flatMap((answer) => (answer.kind === 'stopped' ? answer.written : []));
  }

  #ask(threads: ReadonlySet<number>, request: ThreadRequest): Promise<readonly ThreadAnswer[]> {
    const given: ThreadAnswer[] = [];
    const silent = new Set(threads);
    if (silent.size === 0) return Promise.resolve(given);
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => {
        reject(new Error(`no answer of the threads ${[...silent].join(', ')}`));
      }, threadMsMax);
      this.#onAnswer = (answer) => {
        if (silent.delete(answer.thread)) given.push(answer);
        if (silent.size > 0) return;
        clearTimeout(late);
        resolve(given);
      };
      post(requests, request);
    });
  }
}

function post(channel: BroadcastChannel, message: ThreadRequest | ThreadAnswer): void {
  // oxlint-disable-next-line require-post-message-target-origin -- no window, but threads
  channel.postMessage(message);
}

function listen(channel: BroadcastChannel, listener: (data: unknown) => void): void {
  channel.onmessage = (event) => listener((event as MessageEvent).data);
}

async function answerTo(request: ProfileRequest, others: OtherThreads): Promise<ProfileAnswer> {
  if (request.profile === 'start') {
    await others.start();
    await start();
    return { profile: 'started' };
  }
  const main = await stop('main thread', `${request.path}.cpuprofile`);
  return { profile: 'written', threads: [main, ...(await others.stop(request.path))] };
}

function serveProcess(): void {
  const others = new OtherThreads();
  const failed = (error: unknown): ProfileAnswer => ({ profile: 'failed', reason: String(error) });
  process.on('message', (message) => {
    if (!isProfileRequest(message)) return;
    void answerTo(message, others)
      .catch(failed)
      .then((answer) => process.send?.(answer));
  });
}

/** A failure ends the thread, and with it the measurement. */
function serveThread(): void {
  listen(requests, (request) => {
    void answerOfThread(request as ThreadRequest).then((answer) => post(answers, answer));
  });
  post(answers, { kind: 'loaded', thread: threadId });
  process.once('exit', () => post(answers, { kind: 'ended', thread: threadId }));
}

if (isMainThread) serveProcess();
else serveThread();
