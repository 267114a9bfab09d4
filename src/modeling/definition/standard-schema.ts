/**
 * The part of Standard Schema (https://standardschema.dev, version 1), the common interface of
 * validators, that is used here. No validator is imported.
 */
export interface StandardSchema<Output = unknown> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
  };
}

export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

export interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** `path: message` of each issue. */
export function textOfIssues(issues: readonly StandardIssue[]): string {
  return issues
    .map(({ message, path = [] }) => {
      const keys = path.map((step) => String(typeof step === 'object' ? step.key : step));
      return keys.length === 0 ? message : `${keys.join('.')}: ${message}`;
    })
    .join('; ');
}
