/** The known name that was probably meant; undefined when none is close. */
export function nearestName(given: string, known: readonly string[]): string | undefined {
  if (given.length > givenCharactersMax) return undefined;
  const wanted = given.toLowerCase();
  let nearest: string | undefined;
  let least = Math.max(1, Math.floor(given.length / 3)) + 1;
  for (const name of known) {
    const distance = editDistance(wanted, name.toLowerCase());
    if (distance < least) [nearest, least] = [name, distance];
  }
  return nearest;
}

/** Longer texts are no typing errors, and comparing them takes long. */
const givenCharactersMax = 64;

/** The edits between two texts: insert, delete, replace, or swap two neighbours. */
function editDistance(left: string, right: string): number {
  let before: number[] = [];
  let row = Array.from({ length: right.length + 1 }, (_, at) => at);
  for (let i = 1; i <= left.length; i++) {
    const next = [i];
    for (let j = 1; j <= right.length; j++) {
      const isSame = left[i - 1] === right[j - 1];
      const isSwap = i > 1 && j > 1 && left[i - 1] === right[j - 2] && left[i - 2] === right[j - 1];
      next[j] = Math.min(
        at(row, j) + 1,
        at(next, j - 1) + 1,
        at(row, j - 1) + (isSame ? 0 : 1),
        isSwap ? at(before, j - 2) + 1 : Infinity,
      );
    }
    [before, row] = [row, next];
  }
  return at(row, right.length);
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Infinity;
}
