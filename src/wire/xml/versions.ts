/**
 * The first version with CORS, minute metrics and the present element names in lists (queue-service
 * §2).
 */
export const corsVersion = '2013-08-15';
