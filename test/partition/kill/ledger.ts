/** What a front end was told of the rows that it wrote, by their names in the table. */
export interface Ledger {
  readonly acknowledged: readonly string[];
  /** Written or not. */
  readonly unknown: readonly string[];
  /** Calls that were refused: nothing of them may be there. */
  readonly refused: readonly string[];
  /** What it read and must not have. */
  readonly problems: readonly string[];
  /** How often it read the whole table. */
  readonly scans: number;
}
