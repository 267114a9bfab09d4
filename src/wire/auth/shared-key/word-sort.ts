/** The characters of header names besides `-` and `'`, lightest first. */
const weights = '!#$%&*.^_`|~+0123456789abcdefghijklmnopqrstuvwxyz';

/**
 * A key whose ordinal order is the word-sort order of lower-case header names, which some clients
 * use (queue-service §4.1): `-` and `'` count only between names that are otherwise equal, and
 * punctuation comes before digits, digits before letters.
 */
export function wordSortKey(name: string): string {
  let [words, marks] = ['', ''];
  for (const character of name) {
    const mark = markOf(character);
    if (mark === ' ') words += String.fromCharCode(firstWeight + weights.indexOf(character));
    marks += mark;
  }
  return `${words}\0${marks}`;
}

/** Greater than the word separator, also for a character that no header name has. */
const firstWeight = 2;

function markOf(character: string): string {
  if (character === "'") return '1';
  return character === '-' ? '2' : ' ';
}
