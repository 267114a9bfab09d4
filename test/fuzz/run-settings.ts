/** One run of the fuzzer. */
export interface Run {
  readonly seed: number;
  readonly requests: number;
  /** Flags of `tabularium start`. */
  readonly flags: readonly string[];
  /** The environment variables that repeat the run. */
  readonly repeat: string;
}
