import { ControlError } from './reply.js';

/** The members of a body that say where data are, each with what it must be. */
const expected = {
  location: 'the path of a directory, such as /mnt/b/tabularium',
  postgresUrl: 'the URL of a database, such as postgres://user@host:5432/name',
  postgresSchema: 'the name of a schema of the database',
} as const;

export const locationMembers = ['location', 'postgresUrl', 'postgresSchema'] as const;
type LocationMember = (typeof locationMembers)[number];

/** The texts that a body has. Throws `ControlError` for one that is empty or is no text. */
export function locationTextsOf(
  given: Readonly<Partial<Record<LocationMember, unknown>>>,
): Readonly<Partial<Record<LocationMember, string>>> {
  const texts: Partial<Record<LocationMember, string>> = {};
  for (const name of locationMembers) {
    const value = given[name];
    if (value === undefined) continue;
    if (typeof value === 'string' && value !== '') texts[name] = value;
    else throw wrong(name, `${expected[name]}${value === '' ? ', and not empty' : ''}`);
  }
  return texts;
}

/** The error of a member of a body. */
export function wrong(name: string, expectation: string): ControlError {
  return new ControlError(400, `${name} must be ${expectation}.`);
}
