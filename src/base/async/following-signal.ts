/** A signal that follows others until it is released. */
export interface FollowingSignal {
  readonly signal: AbortSignal;
  /** From now on it follows none, and none keeps anything of it. Idempotent. */
  readonly release: () => void;
}

/**
 * A signal that is aborted with the first of several, for its reason. As `AbortSignal.any`, of
 * which a signal that lives long keeps some bytes for each call for ever: for work of which there
 * is much during the life of one of these.
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
