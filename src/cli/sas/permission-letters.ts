import { InvalidArgumentError } from 'commander';
import { invariant } from '../../base/invariant.js';
import {
  permissionLetters,
  permissionsOfLetters,
  scopeLetters,
  type Permission,
  type Scope,
} from '../../model/services/permission.js';
import { serviceNames, services, type ServiceName } from '../../model/services/services.js';

/** The letters of a field, in the order in which clients write them, with their meanings. */
export type LetterMeanings = readonly (readonly [letter: string, meaning: string])[];

/** The letters that services know (table-service §8.4, queue-service §4.4, blob-service §4.4). */
export const accountLetters: LetterMeanings = Object.entries(permissionLetters);

export const serviceLetters: LetterMeanings = serviceNames.map((service) => {
  const { signature, plural } = services[service];
  return [signature.letter, plural];
});

/** Meanings of permissions for one container, when not equal to their names. */
const ownMeanings: Readonly<Record<ServiceName, Readonly<Partial<Record<Permission, string>>>>> = {
  table: {},
  queue: { read: 'peek, count', add: 'put', process: 'get, delete' },
  blob: { add: 'append' },
};

/** The letters for one container of a service (table-service §8.3, queue-service §4.3). */
export function containerLetters(service: ServiceName): LetterMeanings {
  const { permissions } = services[service].signature;
  return Array.from(permissions, (letter) => {
    const [permission] = permissionsOfLetters(letter);
    invariant(permission !== undefined, 'a signature has letters with a meaning');
    return [letter, ownMeanings[service][permission] ?? permission];
  });
}

const scopeMeanings: Readonly<Record<Scope, string>> = {
  service: 'settings of the service',
  container: 'tables, queues and containers',
  object: 'rows, messages and blobs',
};

export const resourceTypeLetters: LetterMeanings = Object.entries(scopeLetters).map(
  ([letter, scope]) => [letter, scopeMeanings[scope]],
);

/** A parser of letters in any order; returns them once each, in the order of clients. */
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

/** The meanings of letters: `read, add, update`. */
export function inWords(letters: string, meanings: LetterMeanings): string {
  return meanings
    .flatMap(([letter, meaning]) => (letters.includes(letter) ? [meaning] : []))
    .join(', ');
}
