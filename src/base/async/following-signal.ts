/** A signal that follows others until it is released. */
export interface FollowingSignal {
  readonly signal: AbortSignal;
  /** Stops following, so that the followed signals keep no reference to this one. Idempotent. */
  readonly release: () => void;
}

/**
 * A signal that is aborted with the first of several, for its reason. Use this instead of
 * `AbortSignal.any` for frequent work under a signal that lives long: that signal would keep some
 * bytes for each call for ever.
 */
export function followingSignal(...followed: readonly AbortSignal[]): FollowingSignal {
  const controller = new AbortController();
  const follows = followed.map((each) => ({
    each,
    follow: (): void => controller.abort(each.reason),
  }));
  for (const { each, follow } of follows) {
    if (each.aborted) follow();
    else each.addEventListener('abort', follow, { once: true });
  }
  const release = (): void => {
    for (const { each, follow } of follows) each.removeEventListener('abort', follow);
  };
  return { signal: controller.signal, release };
}
