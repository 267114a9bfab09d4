/** What the benchmark asks of a process that `profiled.js` was loaded into. */
export type ProfileRequest =
  | { readonly profile: 'start' }
  /** Files get this path and what tells the threads apart. */
  | { readonly profile: 'stop'; readonly path: string };

export type ProfileAnswer =
  | { readonly profile: 'started' }
  | { readonly profile: 'written'; readonly threads: readonly WrittenProfile[] }
  | { readonly profile: 'failed'; readonly reason: string };

/** The profile of one thread. */
export interface WrittenProfile {
  readonly thread: string;
  readonly file: string;
}

function isProfileMessage(message: unknown): boolean {
  return typeof message === 'object' && message !== null && 'profile' in message;
}

export function isProfileRequest(message: unknown): message is ProfileRequest {
  return isProfileMessage(message);
}

export function isProfileAnswer(message: unknown): message is ProfileAnswer {
  return isProfileMessage(message);
}
