const ownVariables = 'TABULARIUM_';

/**
 * Takes our own variables that are set to nothing for variables that are not set: so they come out
 * of `VARIABLE=${VARIABLE:-}` in files of containers and services.
 */
export function forgetEmptyVariables(environment: NodeJS.ProcessEnv): void {
  for (const [name, value] of Object.entries(environment)) {
    if (name.startsWith(ownVariables) && value === '') delete environment[name];
  }
}
