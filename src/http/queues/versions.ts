/** Protocol versions that changed the behaviour of messages (queue-service §2). */
export const messageVersions = {
  /** Answers say how often a message has been handed out. */
  dequeueCount: '2009-09-19',
  /** Messages can be updated, are invisible from the start, and have 64 KiB. */
  update: '2011-08-18',
  /** A put returns the message. */
  putAnswer: '2016-05-31',
  /** Messages can live longer than a week, and forever. */
  unlimitedTimeToLive: '2017-07-29',
} as const;

/** The first version that has access policies. */
export const aclVersion = '2012-02-12';
/** The first version that has statistics. */
export const statsVersion = '2013-08-15';
