const ownVariables = 'TABULARIUM_';

/**
 * Treats our own variables with an empty value as unset: container and service files produce them
 * with `VARIABLE=${VARIABLE:-}`.
 */
export function forgetEmptyVariables(environment: NodeJS.ProcessEnv): void {
  for (const [name, value] of Object.entries(environment)) {
    if (name.startsWith(ownVariables) && value === '') delete environment[name];
  }
}
