import { checkPlainName } from '../containers/plain-name.js';

/** Refuses an illegal queue name with the code of the broken rule (queue-service §5.1). */
export function checkQueueName(name: string): void {
  checkPlainName(name);
}
