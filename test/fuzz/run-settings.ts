/** One run of the fuzzer. */
export interface Run {
  readonly seed: number;
  readonly requests: number;
  /** Of `tabularium start`. */
  readonly flags: readonly string[];
  /** The environment variables that repeat it. */
  readonly repeat: string;
}
