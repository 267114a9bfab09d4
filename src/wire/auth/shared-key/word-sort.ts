/** What a header name may hold besides `-` and `'`, lightest first. */
const weights = '!#$%&*.^_`|~+0123456789abcdefghijklmnopqrstuvwxyz';

/**
 * A text whose ordinal order is the word-sort order of lower-case header names, in which some
 * clients sign them (queue-service §4.1): `-` and `'` count only between names that are equal
 * without them, and punctuation comes before digits, digits before letters.
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

/** Above the end of the words, also for a character that no header name has. */
const firstWeight = 2;

function markOf(character: string): string {
  if (character === "'") return '1';
  return character === '-' ? '2' : ' ';
}
