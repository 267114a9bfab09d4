import { checkPlainName } from '../containers/plain-name.js';

/** The container of a static website. */
export const websiteContainer = '$web';

/** Containers with a meaning of their own that users create and delete (blob-service §5.1). */
const special: ReadonlySet<string> = new Set(['$root', websiteContainer]);

/** Containers that the service keeps itself, in the order of their names (blob-service §5.1). */
const ofService: ReadonlySet<string> = new Set(['$blobchangefeed', '$logs']);

/** Where lists without the containers of the service begin: the names of all others are greater. */
export const firstOfUsers = '$m';

/** Refuses an illegal name of a container with the code of the broken rule (blob-service §5.1). */
export function checkContainerName(name: string): void {
  if (!special.has(name) && !ofService.has(name)) checkPlainName(name);
}

/** Whether users can neither create nor delete the container. */
export function isOfService(name: string): boolean {
  return ofService.has(name);
}
