/** Between two looks at the processor time of a server. */
const windowMs = 200;
/**
 * Less than two of the units in which Linux counts: the processor time of a server without
 * requests.
 */
const restSecondsMax = 0.015;
/** A server that has not come to rest by then is busy with other work. */
const windowsMax = 100;

/** A server whose processor time can be read. */
export interface Restless {
  usage(): { readonly cpuSeconds: number | undefined };
}

/**
 * Waits until a server has finished the work after its answers, such as writing the journal to the
 * data file. Otherwise this work would disturb the measurement of another server. Returns whether
 * the server has come to rest; true where the system does not tell.
 */
export async function comesToRest(
  server: Restless,
  pause: (ms: number) => Promise<unknown>,
): Promise<boolean> {
  let before = server.usage().cpuSeconds;
  for (let window = 0; window < windowsMax; window += 1) {
    if (before === undefined) return true;
    await pause(windowMs);
    const now = server.usage().cpuSeconds;
    if (now === undefined || now - before <= restSecondsMax) return true;
    before = now;
  }
  return false;
}
