/** A received response, with header names, values and order as sent. */
export class WireResponse {
  readonly status: number;
  readonly reason: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Buffer;
  /** Status line and header fields, the empty line excluded. */
  readonly head: string;

  constructor(head: string, body: Buffer) {
    const [statusLine = '', ...fields] = head.split('\r\n');
    const [version, status, ...reason] = statusLine.split(' ');
    if (version !== 'HTTP/1.1') throw new Error(`no HTTP/1.1 status line: ${statusLine}`);
    this.head = head;
    this.status = Number(status);
    this.reason = reason.join(' ');
    this.headers = fields.map((field) => {
      const colon = field.indexOf(':');
      return [field.slice(0, colon), field.slice(colon + 1).trim()] as const;
    });
    this.body = body;
  }

  /**
   * The value of a header by name in any case; undefined when it is absent, an error when it is
   * repeated.
   */
  header(name: string): string | undefined {
    const values = this.headers.filter(([each]) => each.toLowerCase() === name.toLowerCase());
    if (values.length > 1) throw new Error(`the header ${name} occurs ${values.length} times`);
    return values[0]?.[1];
  }

  get text(): string {
    return this.body.toString('utf8');
  }

  /** The body as a JSON object. Integral doubles look like integers here; see `text`. */
  get json(): Record<string, unknown> {
    return JSON.parse(this.text) as Record<string, unknown>;
  }

  /** The items of a query response. */
  get items(): Record<string, unknown>[] {
    return this.json['value'] as Record<string, unknown>[];
  }
}

export interface Framing {
  /** A response to HEAD has no body, whatever its headers say. */
  readonly toHead: boolean;
  /** True when the connection has ended, which completes a body without length. */
  readonly ended: boolean;
}

export interface Framed {
  readonly response: WireResponse;
  readonly bytes: number;
}

/**
 * The first complete response in `buffer`, without interim ones; undefined when bytes are missing.
 */
export function readResponse(buffer: Buffer, framing: Framing): Framed | undefined {
  const headEnd = buffer.indexOf('\r\n\r\n');
  if (headEnd < 0) return undefined;
  const head = buffer.toString('latin1', 0, headEnd);
  const start = headEnd + 4;
  if (/^HTTP\/1\.1 1\d\d/.test(head)) {
    const next = readResponse(buffer.subarray(start), framing);
    return next === undefined ? undefined : { ...next, bytes: next.bytes + start };
  }
  const body = readBody(head, buffer.subarray(start), framing);
  if (body === undefined) return undefined;
  return { response: new WireResponse(head, body.content), bytes: start + body.bytes };
}

interface FramedBody {
  readonly content: Buffer;
  readonly bytes: number;
}

function readBody(head: string, rest: Buffer, framing: Framing): FramedBody | undefined {
  if (framing.toHead || /^HTTP\/1\.1 (204|304)/.test(head)) {
    return { content: Buffer.alloc(0), bytes: 0 };
  }
  if (/^transfer-encoding:\s*chunked$/im.test(head.replaceAll('\r', ''))) return readChunks(rest);
  const length = /^content-length:\s*(\d+)/im.exec(head)?.[1];
  if (length === undefined) {
    return framing.ended ? { content: rest, bytes: rest.length } : undefined;
  }
  const bytes = Number(length);
  return rest.length < bytes ? undefined : { content: rest.subarray(0, bytes), bytes };
}

function readChunks(rest: Buffer): FramedBody | undefined {
  const chunks: Buffer[] = [];
  let at = 0;
  for (;;) {
    const lineEnd = rest.indexOf('\r\n', at);
    if (lineEnd < 0) return undefined;
    const size = Number.parseInt(rest.toString('latin1', at, lineEnd), 16);
    const start = lineEnd + 2;
    if (rest.length < start + size + 2) return undefined;
    if (size === 0) return { content: Buffer.concat(chunks), bytes: start + 2 };
    chunks.push(rest.subarray(start, start + size));
    at = start + size + 2;
  }
}
