import { serviceNames, type ServiceName } from '../../../model/services/services.js';
import type { Config } from '../../config/config-file.js';

/** The ports on which the services listen; 0 takes a free one. */
export type Ports = Readonly<Record<ServiceName, number>>;

export function samePorts(left: Ports, right: Ports): boolean {
  return serviceNames.every((service) => left[service] === right[service]);
}

/** Messages from the primary to a worker that is ready. */
export type PrimaryMessage =
  | { readonly kind: 'serve'; readonly ports: Ports; readonly config: Config }
  /** Apply the changeable settings of this configuration. */
  | { readonly kind: 'reload'; readonly config: Config }
  /** Reopen the log file after a rotation. */
  | { readonly kind: 'reopen-log' }
  /** Answer with `pulse`, which needs a responsive main thread. */
  | { readonly kind: 'pulse' }
  /** Finish the requests in flight, then exit. */
  | { readonly kind: 'stop' };

/** Messages from a worker to the primary: ready, whether it serves, then the results of reloads. */
export type WorkerMessage =
  /** It listens for messages now; earlier ones are lost. */
  | { readonly kind: 'ready' }
  | { readonly kind: 'listening'; readonly ports: Ports }
  | { readonly kind: 'pulse' }
  /** `failure`: why it keeps the old settings. For people. */
  | { readonly kind: 'reloaded'; readonly failure?: string }
  /** It cannot serve, and a retry would not help. For people. */
  | { readonly kind: 'failed'; readonly message: string };

/** Both ends run this program, so a message of a known kind has its members. */
export function isMessage<Kind extends string>(
  message: unknown,
  kind: Kind,
): message is Extract<PrimaryMessage | WorkerMessage, { readonly kind: Kind }> {
  return (
    typeof message === 'object' && message !== null && 'kind' in message && message.kind === kind
  );
}
