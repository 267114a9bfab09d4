import { Option as CommandOption, type Command } from 'commander';
import { longOf, optionGroups, type Flag, type Option } from '../../app/options/option.js';
import { optionRows } from '../../app/options/table.js';
import { repeated } from '../arguments/option-parsers.js';
import { addAzuriteFlags } from './azurite-flags.js';

const likeAzurite = 'Spellings of Azurite that work here:';

/**
 * Adds all options of `start`. Their values are parsed and checked later (`given-flags.ts`), so
 * that a mistake has the same message from every source.
 */
export function addStartOptions(command: Command): void {
  const flags = optionRows().flatMap(([, row]) => (row.flags ?? []).map((flag) => ({ row, flag })));
  const placed = flags.toSorted((left, right) => placeOf(left) - placeOf(right));
  for (const { row, flag } of placed) command.addOption(commandOption(row, flag));
  addAzuriteFlags(command);
}

interface OptionFlag {
  readonly row: Option;
  readonly flag: Flag;
}

function groupOf({ row, flag }: OptionFlag): Option['group'] {
  return flag.isOfAzurite === true ? likeAzurite : row.group;
}

/** Options without a heading come first. */
function placeOf(placed: OptionFlag): number {
  const group = groupOf(placed);
  return group === undefined ? -1 : optionGroups.indexOf(group);
}

function commandOption(row: Option, flag: Flag): CommandOption {
  const made = new CommandOption(flag.spelling, helpOf(row, flag));
  const group = groupOf({ row, flag });
  if (group !== undefined) made.helpGroup(group);
  const shape = flag.shape ?? row.shape;
  if (shape.kind === 'choice') made.choices(shape.values).argParser((text) => text);
  if (isRepeated(flag)) made.argParser(repeated);
  if (flag.variable !== undefined && !isSwitch(flag)) made.env(flag.variable);
  const defaultValue = row.startDefault ?? row.defaultValue;
  const isMain = flag.part === undefined && flag.isOfAzurite !== true && flag.shape === undefined;
  if (isMain && !isSwitch(flag) && typeof defaultValue !== 'boolean') made.default(defaultValue);
  return made;
}

function helpOf(row: Option, flag: Flag): string {
  const { help = row.help, variable } = flag;
  const often = flag.form === 'names' && flag.help === undefined ? '; may be repeated' : '';
  // The library would take any text for a switch as true.
  const byVariable = isSwitch(flag) && variable !== undefined ? ` (env: ${variable}=true)` : '';
  return `${help}${often}${byVariable}`;
}

/** True for a flag without a value. */
export function isSwitch({ form }: Flag): boolean {
  return form === 'on' || form === 'off';
}

function isRepeated({ form }: Flag): boolean {
  return form === 'texts' || form === 'names' || form === 'texts of json';
}

/** The library's name for a flag. */
export function attributeOf(flag: Flag): string {
  return new CommandOption(flag.spelling).attributeName();
}

/** The name of a flag in messages. */
export function flagLabel(flag: Flag, isInEnvironment: boolean): string {
  return isInEnvironment ? (flag.variable ?? longOf(flag)) : longOf(flag);
}
