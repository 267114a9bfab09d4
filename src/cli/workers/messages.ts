/** The ports on which the services listen; 0 takes a free one. */
export interface Ports {
  readonly table: number;
  readonly queue: number;
}

export function samePorts(left: Ports, right: Ports): boolean {
  return left.table === right.table && left.queue === right.queue;
}

/** What the primary tells a worker: each once, in this order. */
export type PrimaryMessage =
  | { readonly kind: 'serve'; readonly ports: Ports }
  /** Finish the requests in flight, then end. */
  | { readonly kind: 'stop' };

/** What a worker tells the primary: one of them, once. */
export type WorkerMessage =
  | { readonly kind: 'listening'; readonly ports: Ports }
  /** It cannot serve, for a reason that another attempt would not mend. For people. */
  | { readonly kind: 'failed'; readonly message: string };

/** Both ends are this program, so a message of a known kind has its parts. */
export function isMessage<Kind extends string>(
  message: unknown,
  kind: Kind,
): message is Extract<PrimaryMessage | WorkerMessage, { readonly kind: Kind }> {
  return (
    typeof message === 'object' && message !== null && 'kind' in message && message.kind === kind
  );
}
