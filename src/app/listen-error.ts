import { messageOf } from '../base/thrown.js';
import type { ServiceName } from '../model/services/services.js';

/** A service cannot listen at its address. */
export class ListenError extends Error {
  override readonly name = 'ListenError';
  /** The system's error code, such as `EADDRINUSE`. */
  readonly code: string | undefined;
  readonly service: ServiceName | 'control';
  readonly host: string;
  readonly port: number;

  constructor(endpoint: Pick<ListenError, 'service' | 'host' | 'port'>, cause: unknown) {
    const { service, host, port } = endpoint;
    const reason = messageOf(cause);
    super(`the ${service} service cannot listen on ${service}Port ${port} of ${host}: ${reason}`, {
      cause,
    });
    const hasCode = cause instanceof Error && 'code' in cause && typeof cause.code === 'string';
    this.code = hasCode ? String(cause.code) : undefined;
    this.service = service;
    this.host = host;
    this.port = port;
  }
}
