import type { ServerOptions } from '../../src/app/index.js';

/**
 * How the servers of the suites page: with `TABULARIUM_TEST_PAGING`, in every legal shape, by that
 * seed (docs/reference/strictness.md). The results of a client must not depend on it.
 */
export function pageShapes(): Pick<ServerOptions, 'pagingTestMode'> {
  const seed = process.env['TABULARIUM_TEST_PAGING'];
  return seed === undefined ? {} : { pagingTestMode: { seed } };
}
