export interface JournalLimits {
  /** The memory for changes that the base does not have yet. Commits beyond it wait. */
  readonly tableBytesMax: number;
  /** The maximum number of these changes. */
  readonly tableRowsMax: number;
  /**
   * The maximum number of changes in frames that the note does not cover, of all generations: a
   * start after a crash reads them again. Exceeded by one frame at most.
   */
  readonly changesMax: number;
  /**
   * The maximum number of journal files of a generation, without those that are larger than
   * `fileBytes` and one that is being removed. At least two. Below four, one more file may be made.
   */
  readonly filesMax: number;
  /**
   * The usual size of a file, in whole blocks, at least four. A larger frame has its own file.
   * `filesMax` times this size bounds the frames, of all generations, that the note does not cover.
   */
  readonly fileBytes: number;
}

export const defaultJournalLimits: JournalLimits = {
  tableBytesMax: 64 * 1024 * 1024,
  tableRowsMax: 131_072,
  changesMax: 262_144,
  filesMax: 16,
  fileBytes: 8 * 1024 * 1024,
};
