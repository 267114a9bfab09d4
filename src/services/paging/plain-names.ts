import { plainNameLengthMax } from '../containers/plain-name.js';
import type { NameList } from './shaped-names.js';

/** The lowest character of a name of a queue or a container. */
const lowestCharacter = '-';

/** The positions in a list of queues or containers. `from`: where the request continues. */
export function plainPositions(
  from: string | undefined,
): Pick<NameList<{ readonly name: string }>, 'startOf' | 'after'> {
  return {
    startOf: ({ name }) => (name === from ? undefined : name),
    // A marker must not be longer than a name.
    after: ({ name }) =>
      name.length < plainNameLengthMax ? `${name}${lowestCharacter}` : undefined,
  };
}
