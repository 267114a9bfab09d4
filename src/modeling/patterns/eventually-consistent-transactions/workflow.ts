import type { StandardSchema } from '../../definition/standard-schema.js';
import { ModelError } from '../../table/errors.js';
import type { Envelope } from '../../worker/envelope.js';
import { handle, type MessageHandler } from '../../worker/handler.js';
import { isGone } from '../../worker/message-refusal.js';
import {
  envelopeOf,
  messageTypeOf,
  readPayload,
  type MessageOptions,
  type MessageType,
} from '../../worker/message-type.js';
import { systemRandomness } from '../../../base/randomness.js';
import type { PayloadCodec } from '../../worker/payload.js';
import type { QueuePort, SendingQueue } from '../../worker/queue-port.js';
import { putEnvelope, sendMessage, type SendMessageOptions } from '../../worker/send.js';
import type { Step, StepContext, StepOutcome } from './step.js';

/** The result of one step. A step that throws is reported by the worker's observer. */
export interface StepReport {
  readonly workflow: string;
  readonly intentId: string;
  readonly step: string;
  readonly outcome: StepOutcome;
}

/** The options of a workflow. */
export interface WorkflowOptions<Payload, Read> extends MessageOptions<Payload> {
  /** Run in order. Each must be idempotent; those of this library are. */
  readonly steps: readonly Step<Read>[];
  /** Called after each completed step. */
  readonly observer?: (report: StepReport) => void;
}

/** `done`: all steps were run. `void`: their subject does not exist. */
export type WorkflowOutcome = 'done' | 'void';

/** How an intent is put, and when a worker takes over. */
export interface PerformOptions extends SendMessageOptions {
  /**
   * Seconds until a worker takes over, 1 to 604,800: longer than the steps take. Default 60. Both
   * may run at the same time afterwards, which idempotent steps allow.
   */
  readonly takeOverSeconds?: number;
}

/**
 * Changes that no transaction can span, made eventually consistent: a message states the intent,
 * and its steps are repeated until all are done. Made by `defineWorkflow`.
 */
export interface Workflow<Given, Read> {
  readonly message: MessageType<Given, Read>;
  /** For a worker's `handlers`. */
  readonly handler: MessageHandler;
  /**
   * States the intent: one put. Once it resolves, a worker of the queue will run the steps, at
   * least once each. Nothing has changed yet.
   */
  start(
    queue: SendingQueue,
    payload: Given,
    options?: SendMessageOptions,
  ): Promise<{ readonly id: string }>;
  /**
   * States the intent and runs the steps here: one put of a message that is hidden from workers,
   * the steps, one delete. If this process crashes, a worker takes over. Throws
   * `UnfinishedIntentError` when a step fails, or the message cannot be deleted: the intent is
   * still stated, and a worker continues it. A message that a worker has taken over is no failure.
   */
  perform(
    queue: QueuePort,
    payload: Given,
    options?: PerformOptions,
  ): Promise<{ readonly id: string; readonly outcome: WorkflowOutcome }>;
}

/** An intent that still has its message. Workers continue it until all steps are done. */
export class UnfinishedIntentError extends ModelError {
  override readonly name = 'UnfinishedIntentError';
  readonly intentId: string;
  /** Undefined unless only the message is left, which could not be deleted. */
  readonly outcome: WorkflowOutcome | undefined;

  constructor(message: string, intentId: string, cause: unknown, outcome?: WorkflowOutcome) {
    super(message, { cause });
    this.intentId = intentId;
    this.outcome = outcome;
  }
}

/**
 * Defines a workflow: a message type whose handler runs the steps in order. A run that ends early,
 * by an error or a crash, is repeated from the first step. There is no isolation: others see the
 * results of some steps while the rest is still to come.
 */
export function defineWorkflow<Output>(
  type: string,
  options: WorkflowOptions<StandardSchema<Output>, Output>,
): Workflow<Output, Output>;
export function defineWorkflow<Given, Read>(
  type: string,
  options: WorkflowOptions<PayloadCodec<Given, Read>, Read>,
): Workflow<Given, Read>;
export function defineWorkflow(
  type: string,
  options: WorkflowOptions<StandardSchema | PayloadCodec<never, unknown>, unknown>,
): Workflow<never, unknown> {
  return new DefinedWorkflow(messageTypeOf(type, options), options);
}

class DefinedWorkflow<Given, Read> implements Workflow<Given, Read> {
  readonly message: MessageType<Given, Read>;
  readonly handler: MessageHandler;
  readonly #steps: readonly Step<Read>[];
  readonly #observer: ((report: StepReport) => void) | undefined;

  constructor(
    message: MessageType<Given, Read>,
    { steps, observer }: Pick<WorkflowOptions<unknown, Read>, 'steps' | 'observer'>,
  ) {
    this.message = message;
    this.#steps = steps;
    this.#observer = observer;
    this.handler = handle(message, async (payload, { id, dequeueCount, signal }) => {
      await this.#take(payload, { intentId: id, attempt: dequeueCount, signal });
    });
  }

  start(
    queue: SendingQueue,
    payload: Given,
    options?: SendMessageOptions,
  ): Promise<{ id: string }> {
    return sendMessage(queue, this.message, payload, options);
  }

  async perform(
    queue: QueuePort,
    payload: Given,
    options: PerformOptions = {},
  ): Promise<{ id: string; outcome: WorkflowOutcome }> {
    const { takeOverSeconds = 60, randomness = systemRandomness } = options;
    const id = options.id ?? randomness.uuid();
    const envelope = await envelopeOf(this.message, payload, id);
    const message = await putEnvelope(queue, envelope, {
      ...options,
      delaySeconds: takeOverSeconds,
    });
    const outcome = await this.#performed(envelope);
    await this.#finish(queue, message, { id, outcome });
    return { id, outcome };
  }

  async #performed(envelope: Envelope): Promise<WorkflowOutcome> {
    const { id } = envelope;
    try {
      const { signal } = new AbortController();
      const read = await readPayload(this.message, envelope);
      return await this.#take(read, { intentId: id, attempt: 1, signal });
    } catch (cause) {
      const what = `'${this.message.type}' ${id} is not finished yet, a worker goes on with it`;
      throw new UnfinishedIntentError(`${what}: ${String(cause)}`, id, cause);
    }
  }

  /** A worker that has taken the message over finds all steps done, and deletes it. */
  async #finish(
    queue: QueuePort,
    { messageId, popReceipt }: { readonly messageId: string; readonly popReceipt: string },
    { id, outcome }: { readonly id: string; readonly outcome: WorkflowOutcome },
  ): Promise<void> {
    try {
      await queue.deleteMessage(messageId, popReceipt);
    } catch (cause) {
      if (isGone(cause)) return;
      const what =
        `all steps of '${this.message.type}' ${id} are done, but its message may still be in the ` +
        'queue; a worker that gets it finds nothing left to do, and deletes it';
      throw new UnfinishedIntentError(`${what}: ${String(cause)}`, id, cause, outcome);
    }
  }

  async #take(payload: Read, context: StepContext): Promise<WorkflowOutcome> {
    for (const step of this.#steps) {
      context.signal.throwIfAborted();
      const outcome = (await step.run(payload, context)) ?? 'done';
      const { type: workflow } = this.message;
      this.#observer?.({ workflow, intentId: context.intentId, step: step.name, outcome });
      if (outcome === 'void') return 'void';
    }
    return 'done';
  }
}
