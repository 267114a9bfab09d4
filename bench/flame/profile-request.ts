/** The requests of the benchmark to a process into which `profiled.js` was loaded. */
export type ProfileRequest =
  | { readonly profile: 'start' }
  /** The paths of the files begin with this path and end with the name of the thread. */
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
