import type { DeliveryEvent, WorkerEvent, WorkerObserver } from './worker-event.js';

/** The messages of one type in one queue, since the metrics began. */
export interface MessageMetrics {
  readonly queue: string;
  /** Undefined for malformed messages. */
  readonly type: string | undefined;
  readonly counts: Readonly<Record<DeliveryEvent['kind'], number>>;
  /** The time of a delivery from put to its end: the lag of the worker. */
  readonly ageMs: Summary;
  /** The time of a delivery from get to its end. */
  readonly durationMs: Summary;
}

/** Sum and maximum of many numbers. */
export interface Summary {
  readonly sum: number;
  readonly max: number;
}

/** Counts of deliveries. */
export interface WorkerMetrics {
  /** Pass it to one worker or several. */
  readonly observer: WorkerObserver;
  /** As of now, in the order in which queues and types first appeared. */
  snapshot(): readonly MessageMetrics[];
}

/** Counts deliveries by queue and type. */
export function workerMetrics(): WorkerMetrics {
  const metrics = new Map<string, MessageMetrics>();
  return {
    observer: (event) => {
      if (!isDelivery(event)) return;
      const key = JSON.stringify([event.queue, event.type]);
      metrics.set(key, add(metrics.get(key) ?? none(event), event));
    },
    snapshot: () => [...metrics.values()],
  };
}

function isDelivery(event: WorkerEvent): event is DeliveryEvent {
  return event.kind !== 'renewed' && event.kind !== 'retried';
}

function none({ queue, type }: DeliveryEvent): MessageMetrics {
  return {
    queue,
    type,
    counts: { handled: 0, failed: 0, poisoned: 0, released: 0, lost: 0 },
    ageMs: { sum: 0, max: 0 },
    durationMs: { sum: 0, max: 0 },
  };
}

function add(before: MessageMetrics, event: DeliveryEvent): MessageMetrics {
  return {
    ...before,
    counts: { ...before.counts, [event.kind]: before.counts[event.kind] + 1 },
    ageMs: summed(before.ageMs, event.ageMs),
    durationMs: summed(before.durationMs, event.durationMs),
  };
}

function summed({ sum, max }: Summary, value: number): Summary {
  return { sum: sum + value, max: Math.max(max, value) };
}
