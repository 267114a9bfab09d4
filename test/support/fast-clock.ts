// Loaded before a server (`fastClockEnv`): its clocks run faster than those of the machine, so that
// what waits for half a minute, such as the bytes of blobs that were replaced, happens during a
// test. Timers are those of the machine.

const factor = Number(process.env['TABULARIUM_TEST_CLOCK_FACTOR'] ?? '1');

function faster(now: () => number): () => number {
  const begun = now();
  return () => begun + (now() - begun) * factor;
}

const { performance } = globalThis;
const wall = faster(Date.now.bind(Date));
const monotonic = faster(performance.now.bind(performance));
Date.now = () => Math.floor(wall());
performance.now = () => monotonic();
