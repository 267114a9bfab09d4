import type { Routable } from '../exchange/router.js';
import { ControlError, type ControlReply } from './reply.js';

/** A parsed request. `body` is its JSON; undefined when there is none. */
export interface ControlRequest {
  readonly method: string;
  /** Decoded, without the first slash. */
  readonly segments: readonly string[];
  readonly body: unknown;
}

export interface ControlRoute<Target> extends Routable<ControlRequest> {
  /** Segments; `*` matches any, which the handler receives. */
  readonly path: readonly string[];
  answer(target: Target, request: ControlRequest): Promise<ControlReply> | ControlReply;
}

export const ok = (body: unknown): ControlReply => ({ status: 200, body });

/** A decoded segment of the path; the empty text when there is none. */
export function segmentAt({ segments }: ControlRequest, at: number): string {
  return segments[at] ?? '';
}

/** The members of a body, which is an object and has no others. Throws `ControlError`. */
export function membersOf<Name extends string>(
  { body = {} }: ControlRequest,
  known: readonly Name[],
): Readonly<Partial<Record<Name, unknown>>> {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new ControlError(400, 'The body must be an object.');
  }
  const unknown = Object.keys(body).find((name) => !known.some((each) => each === name));
  if (unknown === undefined) return body as Readonly<Partial<Record<Name, unknown>>>;
  const there = known.join(', ');
  throw new ControlError(400, `The body has '${unknown.slice(0, 40)}'; it may have: ${there}.`);
}
