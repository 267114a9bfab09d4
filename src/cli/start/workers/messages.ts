import { serviceNames, type ServiceName } from '../../../model/services/services.js';
import type { Config } from '../../config/config-file.js';

/** The ports on which the services listen; 0 takes a free one. */
export type Ports = Readonly<Record<ServiceName, number>>;

export function samePorts(left: Ports, right: Ports): boolean {
  return serviceNames.every((service) => left[service] === right[service]);
}

/** What the primary tells a worker that is ready to hear it. */
export type PrimaryMessage =
  | { readonly kind: 'serve'; readonly ports: Ports; readonly config: Config }
  /** Serve with what can change of this from now on. */
  | { readonly kind: 'reload'; readonly config: Config }
  /** Open the file of the log again: it has been moved. */
  | { readonly kind: 'reopen-log' }
  /** Answer with `pulse`: that needs a main thread that is not caught in a loop. */
  | { readonly kind: 'pulse' }
  /** Finish the requests in flight, then end. */
  | { readonly kind: 'stop' };

/** What a worker tells the primary: that it is ready, whether it serves, then how reloads went. */
export type WorkerMessage =
  /** It hears messages now; those that came before are lost. */
  | { readonly kind: 'ready' }
  | { readonly kind: 'listening'; readonly ports: Ports }
  | { readonly kind: 'pulse' }
  /** `failure` says why it goes on as before. For people. */
  | { readonly kind: 'reloaded'; readonly failure?: string }
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
