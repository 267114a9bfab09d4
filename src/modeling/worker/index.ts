// Messages and their worker. See docs/guides/patterns/eventually-consistent-transactions.md.

export type { BackOff } from '../../base/async/back-off.js';
export type { QueueSource } from './deliverer.js';
export { entityPayload, keyPayload } from './entity-payload.js';
export {
  MessageTooLargeError,
  type Envelope,
  type PoisonNote,
  type PoisonReason,
  type TextEncoding,
} from './envelope.js';
export { handle, type HandlerContext, type MessageHandler } from './handler.js';
export {
  defineMessage,
  MalformedMessageError,
  UnknownMessageError,
  type MessageOptions,
  type MessageType,
  type Upgrades,
} from './message-type.js';
export { workerMetrics, type MessageMetrics, type Summary, type WorkerMetrics } from './metrics.js';
export type { PayloadCodec } from './payload.js';
export type { ContainerPort } from './container-port.js';
export type { QueuePort, ReceivedMessage, SendingQueue, SendOptions } from './queue-port.js';
export { redrive, type RedriveOptions } from './redrive.js';
export { sendMessage, type SendMessageOptions } from './send.js';
export { spreadQueueOf, type SpreadQueueOptions } from './spread-queue.js';
export { queueWorkerOf, type QueueWorker, type DrainReport, type WorkerOptions } from './worker.js';
export type { Delivery, DeliveryEvent, WorkerEvent, WorkerObserver } from './worker-event.js';
