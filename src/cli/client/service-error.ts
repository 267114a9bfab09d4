import { codeOf } from '../../base/thrown.js';
import { StorageError } from '../../model/errors/storage-error.js';
import { parseXml, type XmlElement } from '../../wire/xml/reader.js';

/** An error answer of a storage service. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  readonly status: number;
  /** The service's code, such as `TableNotFound`; `HTTP status` when the answer has none. */
  readonly code: string;
  /** The index of the failed operation of an entity group transaction, if given. */
  readonly operationIndex: number | undefined;

  constructor(status: number, code: string, message: string, operationIndex?: number) {
    super(message);
    this.status = status;
    this.code = code;
    this.operationIndex = operationIndex;
  }
}

/** The service could not be reached, or the connection broke before its answer was complete. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError';
}

const transientStatuses: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504]);

/** True when a retry may succeed. */
export function isTransient(error: unknown): boolean {
  if (error instanceof ConnectionError) return true;
  return error instanceof ServiceError && transientStatuses.has(error.status);
}

/** The statuses of answers to requests that may have been carried out all the same. */
const doubtfulStatuses: ReadonlySet<number> = new Set([408, 500, 502, 504]);
/** The codes of failures before anything was sent. */
const unsentCodes: ReadonlySet<string> = new Set([
  'EAI_AGAIN',
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
]);

/** Whether a connection failed before anything was sent, such as one that was not made in time. */
function isUnsent(cause: unknown): boolean {
  if (unsentCodes.has(codeOf(cause) ?? '')) return true;
  // The attempts at several addresses of one host.
  if (cause instanceof AggregateError) return cause.errors.every(isUnsent);
  return cause instanceof Error && 'syscall' in cause && cause.syscall === 'connect';
}

/** Adds advice to the error of a request that may have been carried out all the same. */
export function withDoubt(error: unknown, advice: string): unknown {
  if (error instanceof ConnectionError && !isUnsent(error.cause)) {
    return new ConnectionError(`${error.message}. ${advice}`, { cause: error.cause });
  }
  if (error instanceof ServiceError && doubtfulStatuses.has(error.status)) {
    return new ServiceError(error.status, error.code, `${error.message} ${advice}`);
  }
  return error;
}

/** The codes for a missing resource that `--create` makes. */
const madeByOption: ReadonlySet<string> = new Set([
  'TableNotFound',
  'QueueNotFound',
  'ContainerNotFound',
]);

/** Adds the advice to use `--create` to an error. */
export function withCreateHint(error: unknown): unknown {
  if (!(error instanceof ServiceError)) return error;
  const { status, code, message } = error;
  if (!madeByOption.has(code)) return error;
  return new ServiceError(status, code, `${message} Make it with --create.`);
}

const whenFree = 'when that has ended or is taken away; a copy of it is not kept';

/** The protection of a blob, and the advice, by the code of the refusal. */
const keepers: ReadonlyMap<string, string> = new Map([
  ['BlobImmutableDueToPolicy', `Its immutability policy keeps it: try again ${whenFree}.`],
  ['BlobImmutableDueToLegalHold', `A legal hold keeps it: try again ${whenFree}.`],
]);

/**
 * Changes or deletes a blob. The refusal of one that is kept says which blob it is, and what to do.
 */
export async function changing<T>(blob: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    const { status, code, message } = error;
    const hint = keepers.get(code);
    if (hint === undefined) throw error;
    throw new ServiceError(status, code, `${message} ${blob}: ${hint}`);
  }
}

/** The error in a response body of any of the service's shapes. */
export function serviceErrorOf(status: number, body: string): ServiceError {
  const { code, message } = jsonError(body) ?? xmlError(body) ?? {};
  const text = (message ?? body.slice(0, 200)).replace(/\nRequestId:[\s\S]*$/, '').trim();
  const indexed = /^(\d{1,3}):([\s\S]*)$/.exec(text);
  return new ServiceError(
    status,
    code ?? 'HTTP status',
    indexed?.[2]?.trim() ?? (text || 'The answer says nothing more.'),
    indexed === null ? undefined : Number(indexed[1]),
  );
}

/** Redirects are not followed, because a signature is for one address. */
export function redirection(status: number, location: string | undefined): ServiceError {
  return new ServiceError(
    status,
    `HTTP ${status}`,
    `The endpoint sends requests elsewhere${location === undefined ? '' : `, to ${location}`}. ` +
      'Nothing was done. Use an endpoint that answers itself.',
  );
}

interface ErrorText {
  readonly code?: string;
  readonly message?: string;
}

function jsonError(body: string): ErrorText | undefined {
  if (!body.startsWith('{')) return undefined;
  try {
    const { 'odata.error': error }: { 'odata.error'?: { code?: string; message?: unknown } } =
      JSON.parse(body);
    if (typeof error?.code !== 'string') return undefined;
    const { message } = error;
    const value =
      typeof message === 'object' && message !== null && 'value' in message ? message.value : '';
    return { code: error.code, message: typeof value === 'string' ? value : '' };
  } catch {
    return undefined;
  }
}

/**
 * The error in `<Error>` of queues, or `<m:error>` or `<error>` of tables: code, message and
 * details, if any.
 */
function xmlError(body: string): ErrorText | undefined {
  const root = parsedXml(body);
  if (root === undefined || !/^(m:)?error$/i.test(root.name)) return undefined;
  const textOf = (name: string): string | undefined =>
    root.children.find((child) => child.name.replace(/^m:/, '').toLowerCase() === name)?.text;
  const code = textOf('code');
  if (code === undefined) return undefined;
  const [first = ''] = (textOf('message') ?? '').split('\nRequestId:');
  return { code, message: [first.trim(), ...detailsOf(root)].join(' ') };
}

function parsedXml(body: string): XmlElement | undefined {
  try {
    return parseXml(Buffer.from(body));
  } catch (error) {
    if (error instanceof StorageError) return undefined;
    throw error;
  }
}

/**
 * The details of an error. Those of several lines are skipped: they are signed texts, for programs.
 */
function detailsOf({ children }: XmlElement): string[] {
  const details = children.filter(
    ({ name, text }) => !/^(m:)?(code|message)$/i.test(name) && !text.includes('\n'),
  );
  if (details.length === 0) return [];
  return [`(${details.map(({ name, text }) => `${name}: ${text}`).join('; ')})`];
}

/** The first failure in the answer to an entity group transaction; undefined: success. */
export function batchFailure(body: string): ServiceError | undefined {
  const parts = body.split(/^HTTP\/1\.[01] /m).slice(1);
  if (parts.length === 0) {
    return new ServiceError(502, 'InvalidResponse', 'The answer to a batch holds no response.');
  }
  for (const part of parts) {
    const status = Number(part.slice(0, 3));
    if (status >= 200 && status < 300) continue;
    const content = /\r?\n\r?\n([\s\S]*?)\r?\n--(?:changeset|batch)response/.exec(part)?.[1];
    return serviceErrorOf(status, (content ?? part).trim());
  }
  return undefined;
}
