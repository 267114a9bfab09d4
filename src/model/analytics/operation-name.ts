/** The classes of operations that logging is switched on for (blob-service §21.6), in order. */
export const operationClasses = ['read', 'write', 'delete'] as const;
export type OperationClass = (typeof operationClasses)[number];

/**
 * Operations whose name in metrics and logs differs from that in this server (blob-service §21.6).
 */
const analyticsNames: ReadonlyMap<string, string> = new Map([
  ['GetEntity', 'QueryEntity'],
  ['GetTable', 'QueryTable'],
  ['GetTableAcl', 'GetTableACL'],
  ['SetTableAcl', 'SetTableACL'],
  ['PreflightTableRequest', 'TablePreflightRequest'],
]);

/** The name of an operation in metrics and logs. */
export function analyticsName(operation: string): string {
  return analyticsNames.get(operation) ?? operation;
}

const reading = /^(?:Get|List|Peek|Query|Find)|PreflightRequest$/;
const deleting = /^(?:Delete|Clear)/;

/**
 * The class of an operation, by its name in metrics and logs. For `Unknown`, the name for requests
 * without an operation, the method decides.
 */
export function operationClass(name: string, method: string): OperationClass {
  if (name === 'Unknown') return classOfMethod(method);
  if (reading.test(name)) return 'read';
  return deleting.test(name) ? 'delete' : 'write';
}

function classOfMethod(method: string): OperationClass {
  if (method === 'GET' || method === 'HEAD' || method === 'OPTIONS') return 'read';
  return method === 'DELETE' ? 'delete' : 'write';
}
