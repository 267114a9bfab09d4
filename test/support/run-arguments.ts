import { parseArgs } from 'node:util';

// The arguments of the long forms that a person starts by hand: `npm run chaos` and its kind.

/** A whole number from 0. Throws what names the argument otherwise. */
export function wholeNumber(name: string, text: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= 0 && text !== '') return value;
  throw new Error(`--${name} must be a whole number, not '${text}'`);
}

/** The seed that was asked for, or else a fresh one, so that runs cover more. */
export function seedOr(text: string | undefined): number {
  return wholeNumber('seed', text ?? String(Math.floor(Math.random() * 2 ** 31)));
}

/** What to leave out, so that a run must find something. Throws what names all that there is. */
export function leftOut<Protection extends string>(
  text: string | undefined,
  protections: readonly Protection[],
): Protection | undefined {
  const found = protections.find((each) => each === text);
  if (text === undefined || found !== undefined) return found;
  throw new Error(`--without must be one of ${protections.join(', ')}, not '${text}'`);
}

/**
 * Makes a plan of the arguments of this process, which are texts by name. `--help` shows `usage`
 * and ends the process; arguments that make no sense end it with 2, and the usage says what does.
 */
export function planOrExit<Name extends string, Plan>(
  usage: string,
  names: readonly Name[],
  planOf: (given: Readonly<Partial<Record<Name, string>>>) => Plan,
): Plan {
  try {
    const { help, given } = argumentsOf(names);
    if (!help) return planOf(given);
    process.stdout.write(usage);
    return process.exit(0);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${usage}`);
    return process.exit(2);
  }
}

function argumentsOf<Name extends string>(names: readonly Name[]) {
  const texts = Object.fromEntries(names.map((name) => [name, { type: 'string' } as const]));
  const { values } = parseArgs({ options: { ...texts, help: { type: 'boolean' } } });
  const all = new Map<string, unknown>(Object.entries(values));
  const given: Partial<Record<Name, string>> = {};
  for (const name of names) {
    const text = all.get(name);
    if (typeof text === 'string') given[name] = text;
  }
  return { help: all.get('help') === true, given };
}
