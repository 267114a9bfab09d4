import { InvalidArgumentError } from 'commander';

/** The letters of a field, in the order in which clients write them, and what each means. */
export type LetterMeanings = readonly (readonly [letter: string, meaning: string])[];

/** See table-service §8.3. */
export const tableLetters: LetterMeanings = [
  ['r', 'read'],
  ['a', 'add'],
  ['u', 'update'],
  ['d', 'delete'],
];

/** See queue-service §4.3. */
export const queueLetters: LetterMeanings = [
  ['r', 'peek, count'],
  ['a', 'put'],
  ['u', 'update'],
  ['p', 'get, delete'],
];

/** Those that tables and queues know (table-service §8.4, queue-service §4.4). */
export const accountLetters: LetterMeanings = [
  ['r', 'read'],
  ['w', 'write'],
  ['d', 'delete'],
  ['l', 'list'],
  ['a', 'add'],
  ['c', 'create'],
  ['u', 'update'],
  ['p', 'process'],
];

export const serviceLetters: LetterMeanings = [
  ['t', 'tables'],
  ['q', 'queues'],
];

export const resourceTypeLetters: LetterMeanings = [
  ['s', 'settings of the service'],
  ['c', 'tables and queues'],
  ['o', 'rows and messages'],
];

/** A parser of letters in any order, which gives them once each in the order of clients. */
export function lettersOf(meanings: LetterMeanings): (text: string) => string {
  return (text) => {
    const unknown = Array.from(text).find(
      (found) => !meanings.some(([letter]) => letter === found),
    );
    if (unknown !== undefined || text === '') {
      const problem = unknown === undefined ? 'There is no letter.' : `'${unknown}' is no letter.`;
      throw new InvalidArgumentError(`${problem} The letters are ${explained(meanings)}.`);
    }
    return meanings.flatMap(([letter]) => (text.includes(letter) ? [letter] : [])).join('');
  };
}

/** `r (read), a (add)`. */
export function explained(meanings: LetterMeanings): string {
  return meanings.map(([letter, meaning]) => `${letter} (${meaning})`).join(', ');
}

/** What the letters mean: `read, add, update`. */
export function inWords(letters: string, meanings: LetterMeanings): string {
  return meanings
    .flatMap(([letter, meaning]) => (letters.includes(letter) ? [meaning] : []))
    .join(', ');
}
