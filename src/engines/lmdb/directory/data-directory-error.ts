/**
 * Why a data directory was refused. `in-use`: another server owns it. `no-owner`: it was to be
 * joined, but nobody owns it. `newer-format`: a later release wrote it. `older-format`: an earlier
 * one did, in a way that is not read any more. `foreign`: it holds other things. `damaged`: its
 * files cannot be read as what they should be. `disk`: the disk failed or is full. `place`: there
 * can be no directory, or none that this user may use.
 */
export type DataDirectoryProblem =
  | 'in-use'
  | 'no-owner'
  | 'newer-format'
  | 'older-format'
  | 'foreign'
  | 'damaged'
  | 'disk'
  | 'place';

/** The message is for people: it names the directory and what to do. */
export class DataDirectoryError extends Error {
  override readonly name = 'DataDirectoryError';
  readonly reason: DataDirectoryProblem;

  constructor(reason: DataDirectoryProblem, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}
