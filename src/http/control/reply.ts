import type { ServerResponse } from 'node:http';

/** An answer of the control API; the body becomes JSON. */
export interface ControlReply {
  readonly status: number;
  readonly body: unknown;
  /** The media type of a text body, which is sent unchanged. Absent: the body is sent as JSON. */
  readonly contentType?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The request has only looked, whatever its method is, so it is not logged. */
  readonly isLook?: boolean;
}

/** A request that the control API refuses. The message says why. */
export class ControlError extends Error {
  override readonly name = 'ControlError';
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.status = status;
    this.headers = headers;
  }
}

export function sendReply(response: ServerResponse, reply: ControlReply): void {
  const { status, body, headers, contentType } = reply;
  const isText = contentType !== undefined && typeof body === 'string';
  const bytes = Buffer.from(isText ? body : `${JSON.stringify(body)}\n`);
  response.writeHead(status, {
    ...headers,
    'Content-Type': isText ? contentType : 'application/json',
    'Content-Length': bytes.length,
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
  });
  response.end(bytes);
}
