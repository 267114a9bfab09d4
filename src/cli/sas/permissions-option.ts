import { Option } from 'commander';
import { defaultPermissions } from './policy-terms.js';
import { explained, lettersOf, type LetterMeanings } from './permission-letters.js';

/** `--permissions` of a token for one table, queue or container. `hint`: more about the letters. */
export function permissionsOption(letters: LetterMeanings, hint = ''): Option {
  return new Option(
    '-p, --permissions <letters>',
    `what it allows: ${explained(letters)}${hint} (default: ${defaultPermissions})`,
  ).argParser(lettersOf(letters));
}
