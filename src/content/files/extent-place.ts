import { extentIdLengthMax, type ExtentId } from '../content-store.js';

/** The folder that has a folder for each session with extents. */
export const extentsFolder = 'extents';
/** Extents of a session that share a folder: few enough to list, enough to make folders rarely. */
const leafExtents = 1024;
const linkEnding = '.link';
const ownerEnding = '.owner';
const sessionForm = /^[0-9a-f]{16}$/;
const nameForm = /^([0-9a-z]{1,11})(\.link|\.owner)?$/;

/** The location of an extent, as derived from its id. */
export interface ExtentPlace {
  readonly session: string;
  /** Counts from 1 within the session. */
  readonly number: number;
  /** Its file is also that of other extents; the owner is in a file of its own. */
  readonly isLink: boolean;
}

export function isSession(name: string): boolean {
  return sessionForm.test(name);
}

export function idOf({ session, number, isLink }: ExtentPlace): ExtentId {
  return `${session}-${number.toString(36)}${isLink ? linkEnding : ''}`;
}

/** Undefined when no extent has such an id. */
export function placeOf(id: ExtentId): ExtentPlace | undefined {
  if (id.length > extentIdLengthMax) return undefined;
  const [session = '', name = ''] = id.split('-', 2);
  const place = isSession(session) ? placeNamed(session, name) : undefined;
  return place === undefined || idOf(place) !== id ? undefined : place;
}

/** The extent to which a file belongs; undefined for a foreign file. */
export function placeNamed(session: string, name: string): ExtentPlace | undefined {
  const [, text = '', ending] = nameForm.exec(name) ?? [];
  const number = Number.parseInt(text, 36);
  if (!Number.isSafeInteger(number) || number.toString(36) !== text) return undefined;
  return { session, number, isLink: ending !== undefined };
}

export function isOwnerFile(name: string): boolean {
  return name.endsWith(ownerEnding);
}

export function sessionFolder(session: string): string {
  return `${extentsFolder}/${session}`;
}

export function leafOf(number: number): string {
  return Math.floor(number / leafExtents).toString(36);
}

export function leafFolder({ session, number }: ExtentPlace): string {
  return `${sessionFolder(session)}/${leafOf(number)}`;
}

export function fileOf(place: ExtentPlace): string {
  return `${leafFolder(place)}/${place.number.toString(36)}${place.isLink ? linkEnding : ''}`;
}

/** The file with the owner of a link. */
export function ownerFileOf(place: ExtentPlace): string {
  return `${leafFolder(place)}/${place.number.toString(36)}${ownerEnding}`;
}
