/** Between two looks at the processor time of a server. */
const windowMs = 200;
/** Less than two units in which Linux counts: what a server does that is asked nothing. */
const restSecondsMax = 0.015;
/** A server that has not come to rest by then does something else. */
const windowsMax = 100;

/** A server, as far as its rest is concerned. */
export interface Restless {
  usage(): { readonly cpuSeconds: number | undefined };
}

/**
 * Waits until a server has done what its answers have left it to do, such as giving the data file
 * what a journal holds. Otherwise that would be at work while another one is measured. Whether it
 * has come to rest; yes where nobody tells.
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
