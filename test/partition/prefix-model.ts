import type { Model } from '../linearizability/checker.js';

// A partition as the checker of histories knows it: a few keys and a counter.

export const names = ['a', 'b', 'n'] as const;
export type Name = (typeof names)[number];

export interface Cell {
  /** A unique text, or a counter's sum. */
  readonly value: string | number;
  readonly version: number;
}

export type Cells = Readonly<Partial<Record<Name, Cell>>>;

export type Demand = number | 'absent' | 'present';

export type PrefixInput =
  | { readonly kind: 'read'; readonly names: readonly Name[] }
  | {
      readonly kind: 'write';
      readonly checks: readonly { readonly name: Name; readonly demand: Demand }[];
      readonly puts: Readonly<Partial<Record<Name, string>>>;
      readonly deletes: readonly Name[];
      readonly add: number;
    };

export type PrefixOutput =
  | { readonly kind: 'read'; readonly cells: Cells }
  | { readonly kind: 'written'; readonly version: number }
  | { readonly kind: 'failed'; readonly check: number; readonly actual: number | 'absent' };

interface State {
  readonly cells: Cells;
  /** Of the last commit. */
  readonly version: number;
}

export const prefixModel: Model<State, PrefixInput, PrefixOutput> = {
  initial: { cells: {}, version: 0 },
  textOf: ({ cells, version }) =>
    `${version} ${names.map((name) => `${cells[name]?.value}@${cells[name]?.version}`).join(' ')}`,
  step(state, input, output) {
    if (output === undefined) return [];
    const next = input.kind === 'read' ? read(state, input, output) : write(state, input, output);
    return next === undefined ? [] : [next];
  },
};

function read(
  state: State,
  input: PrefixInput & { readonly kind: 'read' },
  output: PrefixOutput,
): State | undefined {
  if (output.kind !== 'read') return undefined;
  const isSeen = input.names.every((name) => {
    const [expected, found] = [state.cells[name], output.cells[name]];
    return expected?.version === found?.version && expected?.value === found?.value;
  });
  return isSeen ? state : undefined;
}

function write(
  state: State,
  input: PrefixInput & { readonly kind: 'write' },
  output: PrefixOutput,
): State | undefined {
  const failed = input.checks.findIndex(({ name, demand }) => {
    const actual = state.cells[name]?.version ?? 'absent';
    return demand === 'present' ? actual === 'absent' : actual !== demand;
  });
  if (output.kind === 'failed') {
    const name = input.checks[output.check]?.name;
    const actual = (name && state.cells[name]?.version) ?? 'absent';
    return failed === output.check && actual === output.actual ? state : undefined;
  }
  if (failed !== -1 || output.kind !== 'written' || output.version <= state.version) {
    return undefined;
  }
  const { version } = output;
  const cells: Partial<Record<Name, Cell>> = { ...state.cells };
  for (const name of input.deletes) delete cells[name];
  for (const name of names) {
    const value = input.puts[name];
    if (value !== undefined) cells[name] = { value, version };
  }
  if (input.add > 0) {
    cells.n = { value: Number(state.cells.n?.value ?? 0) + input.add, version };
  }
  return { cells, version };
}
