interface BenchCommand<Options> {
  readonly usage: string;
  /** The options, or `undefined` when the usage was asked for. Throws on what it does not know. */
  readonly parse: (args: readonly string[]) => Options | undefined;
  readonly run: (options: Options) => Promise<void>;
}

/**
 * Carries out the command line of a benchmark. A failure is reported on one line, with exit code 1.
 */
export async function runBench<Options>(command: BenchCommand<Options>): Promise<void> {
  const { usage, parse, run } = command;
  try {
    const options = parse(process.argv.slice(2));
    if (options === undefined) process.stdout.write(usage);
    else await run(options);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  }
}
