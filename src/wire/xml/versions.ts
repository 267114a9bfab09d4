/** Brought CORS, minute metrics and today's names in lists (queue-service §2). */
export const corsVersion = '2013-08-15';
