import { Option } from 'commander';
import { explained, lettersOf, type LetterMeanings } from './permission-letters.js';

/** `--permissions` of a token for one table, queue or container. `hint`: more about the letters. */
export function permissionsOption(letters: LetterMeanings, hint = ''): Option {
  return new Option(
    '-p, --permissions <letters>',
    `what it allows: ${explained(letters)}${hint} (default: r)`,
  ).argParser(lettersOf(letters));
}
