/** Queues or containers in one page of a list (queue-service §6.1, blob-service §6.1). */
export const listMax = 5_000;
