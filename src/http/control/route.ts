import type { Routable } from '../exchange/router.js';
import type { ControlReply } from './reply.js';

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
