import { equalBytes } from '../../base/bytes.js';
import { CommitUnknownError } from '../../kv/errors.js';
import { Catalogue } from '../catalogue.js';
import { operationKey, rangeKey } from '../keys.js';
import type { Members } from '../members.js';
import { encodeOperationRow, encodeRangeRow, type OperationRow, type RangeRow } from '../rows.js';

/** The commit that begins an operation, and that the home store has not answered in time. */
export interface LateBegin {
  readonly row: OperationRow;
  /** The ranges of the operation, as they were before. */
  readonly ranges: readonly RangeRow[];
  /** The result of the commit, if there is one after all. */
  readonly result: Promise<unknown>;
}

/**
 * Waits for the answer to the commit that begins an operation, and ends the operation if it has
 * begun: nothing was done for it yet. `taken`: another process has taken it over meanwhile, so it
 * goes on. Waits as long as the home store is silent.
 */
export async function withdraw(
  { home }: Pick<Members, 'home'>,
  { row, ranges, result }: LateBegin,
): Promise<'withdrawn' | 'taken' | 'not begun'> {
  const isKnown = await hasBegun(result);
  if (isKnown === false) return 'not begun';
  const catalogue = new Catalogue(home);
  const found = await catalogue.operation(row.id);
  const isUntouched =
    found !== undefined && equalBytes(encodeOperationRow(found.row), encodeOperationRow(row));
  // Where the outcome is unknown, another operation may have this number.
  if (!isUntouched) return isKnown === true && found !== undefined ? 'taken' : 'not begun';
  const { version } = found;
  const key = operationKey(row.id);
  const { ok } = await catalogue.commit({
    // One commit has written all these rows, so unchanged ones have its version.
    checks: [key, ...ranges.map(({ id }) => rangeKey(id))].map((each) => ({ key: each, version })),
    puts: ranges.map((range) => ({ key: rangeKey(range.id), value: encodeRangeRow(range) })),
    deletes: [key],
  });
  return ok ? 'withdrawn' : 'taken';
}

/** Whether the commit was applied; undefined when nobody knows. */
async function hasBegun(result: Promise<unknown>): Promise<boolean | undefined> {
  try {
    const found = await result;
    return typeof found === 'object' && found !== null && 'ok' in found && found.ok === true;
  } catch (error) {
    return error instanceof CommitUnknownError ? undefined : false;
  }
}
